# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A server that trains several replicas of one model, one for each group.

All replicas start from the same weights and labeled images, but have their own
order, augmentation, dropout and momentum.
"""

import collections
from collections.abc import Callable, Mapping
import dataclasses
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.batch_norm import running_statistics
from tff_semifl.core import round_context
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.training import optimizers
from tff_semifl.training import training_loop

# (weights, {'image', 'label'}, optimizer state, the replica) -> training.
ReplicaTrainingFn = Callable[
  [
    functional.ModelWeights,
    Mapping[str, tf.Tensor],
    Any,
    round_context.Node,
  ],
  training_loop.TrainingResult,
]


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ReplicatedServerWork:
  """A `ServerWork` that trains replicas one after the other.

  The states of the replicas' optimizers and the trainable weights of the
  replicas are stacked along the first dimension. Non-trainable weights are the
  running statistics of the first replica, if the optimizer keeps any; they are
  for evaluation. Measurements are over all steps of all replicas, NaN without
  any. The optimizer's learning rate is set to the round's.
  """

  classifier: functional.ImageClassifier
  training_fn: ReplicaTrainingFn
  optimizer: tff.learning.optimizers.Optimizer
  num_replicas: int

  def initialize(self) -> Any:
    """The states of the replicas' optimizers."""
    state = training_loop.initial_optimizer_state(
      self.optimizer, self.classifier.initial_weights.trainable
    )
    return tf.nest.map_structure(
      lambda value: tf.stack([value] * self.num_replicas), state
    )

  def train(
    self,
    states: Any,
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    dataset: tf.data.Dataset,
  ) -> tuple[Any, functional.ModelWeights, Mapping[str, tf.Tensor]]:
    """Trains the replicas one after the other."""
    data = pipelines.concatenate_chunks(dataset)

    # Nothing to convert: no Python control flow depends on a tensor.
    @tf.autograph.experimental.do_not_convert
    def train_replica(replica_and_state: tuple[tf.Tensor, Any]):
      replica, state = replica_and_state
      return self.training_fn(
        weights,
        data,
        self.optimizer.set_hparams(
          state, {optimizers.LEARNING_RATE_KEY: context.learning_rate}
        ),
        round_context.Node(context, -1 - replica),
      )

    result_spec = tf.nest.map_structure(
      lambda value: tf.TensorSpec(value.shape[1:], value.dtype), states
    )
    scalar = tf.TensorSpec([], tf.float32)
    # One after the other, so that one replica at a time is on the device.
    trained = tf.map_fn(
      train_replica,
      (tf.range(self.num_replicas), states),
      fn_output_signature=training_loop.TrainingResult(
        tuple(
          tf.TensorSpec(array.shape, array.dtype)
          for array in self.classifier.initial_weights.trainable
        ),
        result_spec,
        training_loop.TrainingSums(scalar, scalar, scalar, scalar),
      ),
      parallel_iterations=1,
    )
    sums = tf.nest.map_structure(tf.reduce_sum, trained.sums)
    metrics = collections.OrderedDict(
      loss=sums.loss / sums.num_examples,
      accuracy=sums.num_correct / sums.num_examples,
    )
    statistics = running_statistics.get_statistics(
      self.optimizer, trained.optimizer_state
    )
    replicas = functional.ModelWeights(
      trained.trainable,
      tuple(stacked[0] for stacked in statistics) or weights.non_trainable,
    )
    return trained.optimizer_state, replicas, metrics
