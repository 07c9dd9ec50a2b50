# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Server work: a TFF process in which the server trains the model weights."""

import collections
from collections.abc import Callable, Mapping
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


class ServerWorkProcess(tff.templates.MeasuredProcess):
  """The server's counterpart of TFF's `ClientWorkProcess`.

  With S for the state, W for model weights, R for `RoundContext`, L for chunks
  of the server's data and M for metrics:

      initialize: ( -> S@SERVER)
      next: (<S@SERVER, W@SERVER, R@SERVER, L*@SERVER>
             -> <state=S@SERVER, result=W@SERVER, measurements=M@SERVER>)
  """

  def __init__(self, initialize_fn: tff.Computation, next_fn: tff.Computation):
    """Checks and keeps the computations of the class's docstring.

    Raises:
      TypeError: If the types differ from those of the class's docstring.
    """
    super().__init__(initialize_fn, next_fn)
    parameter = next_fn.type_signature.parameter
    if len(parameter) != 4:
      raise TypeError(
        '`next_fn` must take a state, model weights, a round context and data;'
        f' found {parameter}.'
      )
    for part in parameter:
      if part.placement is not tff.SERVER:
        raise TypeError(f'`next_fn` must be placed at SERVER; found {part}.')
    if not isinstance(parameter[3].member, tff.SequenceType):
      raise TypeError(
        'The data of `next_fn` must be a sequence of chunks; found'
        f' {parameter[3]}.'
      )
    weights_type = parameter[1]
    result_type = next_fn.type_signature.result.result
    if not weights_type.is_assignable_from(result_type):
      raise TypeError(
        f'`next_fn` must return weights like those it takes, {weights_type};'
        f' found {result_type}.'
      )


def build_server_work(
  classifier: functional.ImageClassifier,
  training_fn: SupervisedTrainingFn,
  *,
  optimizer: tff.learning.optimizers.Optimizer,
  rate_factor: float = 1.0,
  keep_optimizer_state: bool = True,
) -> ServerWorkProcess:
  """Builds server work that trains on labeled images.

  The optimizer's learning rate is set to the round's, times `rate_factor`. Its
  state is kept from round to round if `keep_optimizer_state`.

  Returns:
    A `ServerWorkProcess` on data of `pipelines.labeled_type`, with metrics
    `loss` and `accuracy` over all steps of the round, NaN without any step.
  """
  weights_type = classifier.weights_type
  data_type = pipelines.labeled_type(classifier.image_shape)

  @tff.tensorflow.computation
  def initialize():
    return training_loop.initial_optimizer_state(
      optimizer, classifier.initial_weights.trainable
    )

  state_type = initialize.type_signature.result

  @tff.tensorflow.computation(
    state_type, weights_type, round_context.ROUND_CONTEXT_TYPE, data_type
  )
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

  return place_server_work(initialize, train)


def place_server_work(
  initialize: tff.Computation, train: tff.Computation
) -> ServerWorkProcess:
  """Places computations, with the letters of `ServerWorkProcess`, at SERVER.

  Args:
    initialize: ( -> S).
    train: (<S, W, R, L*> -> <S, W, M>).
  """

  @tff.federated_computation
  def initialize_fn():
    return tff.federated_eval(initialize, tff.SERVER)

  @tff.federated_computation(
    *(
      tff.FederatedType(part, tff.SERVER)
      for part in train.type_signature.parameter
    )
  )
  def next_fn(state, weights, context, dataset):
    state, weights, metrics = tff.federated_map(
      train, (state, weights, context, dataset)
    )
    return tff.templates.MeasuredProcessOutput(state, weights, metrics)

  return ServerWorkProcess(initialize_fn, next_fn)
