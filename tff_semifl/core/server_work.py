# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Server work: the training of the model weights on the server's labels."""

import collections
from collections.abc import Callable, Mapping
import dataclasses
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import round_context
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.training import optimizers
from tff_semifl.training import training_loop

# (weights, round context, {'image', 'label'}, optimizer state) -> training.
SupervisedTrainingFn = Callable[
  [
    functional.ModelWeights,
    round_context.RoundContext,
    Mapping[str, tf.Tensor],
    Any,
  ],
  training_loop.TrainingResult,
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerWork:
  """What the server does in a round, in plain TensorFlow.

  Attributes:
    initialize: ( -> the state before round 0).
    train: (state, model weights, `RoundContext`, chunks of the server's data)
      -> state, weights and measurements by name.
  """

  initialize: Callable[[], Any]
  train: Callable[
    ..., tuple[Any, functional.ModelWeights, Mapping[str, tf.Tensor]]
  ]


def build_server_work(
  classifier: functional.ImageClassifier,
  training_fn: SupervisedTrainingFn,
  *,
  optimizer: tff.learning.optimizers.Optimizer,
  rate_factor: float = 1.0,
  keep_optimizer_state: bool = True,
) -> ServerWork:
  """Builds server work that trains on labeled images.

  The optimizer's learning rate is set to the round's, times `rate_factor`. Its
  state is kept from round to round if `keep_optimizer_state`. Measurements are
  `loss` and `accuracy` over all steps of the round, NaN without any step.
  """

  def train(
    state: Any,
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    dataset: tf.data.Dataset,
  ):
    rate = context.learning_rate * rate_factor
    result = training_fn(
      weights,
      context,
      pipelines.concatenate_chunks(dataset),
      optimizer.set_hparams(state, {optimizers.LEARNING_RATE_KEY: rate}),
    )
    metrics = collections.OrderedDict(
      loss=result.sums.loss / result.sums.num_examples,
      accuracy=result.sums.num_correct / result.sums.num_examples,
    )
    weights = functional.ModelWeights(result.trainable, weights.non_trainable)
    # Passed on unchanged, it is always the initial state.
    new_state = result.optimizer_state if keep_optimizer_state else state
    return new_state, weights, metrics

  return ServerWork(
    initialize=lambda: training_loop.initial_optimizer_state(
      optimizer, classifier.initial_weights.trainable
    ),
    train=train,
  )
