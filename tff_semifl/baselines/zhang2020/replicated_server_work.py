# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A server that trains several replicas of one model, one for each group.

All replicas start from the same weights and labeled images, but have their own
order, augmentation, dropout and momentum.
"""

import collections
from collections.abc import Callable, Mapping
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


def build_replicated_server_work(
  classifier: functional.ImageClassifier,
  training_fn: ReplicaTrainingFn,
  *,
  optimizer: tff.learning.optimizers.Optimizer,
  num_replicas: int,
) -> tff.templates.MeasuredProcess:
  """Builds server work that trains replicas one after the other.

  With S for the states of the replicas' optimizers and T for the trainable
  weights of the replicas, both stacked along the first dimension, W for model
  weights, N for non-trainable weights, R for `RoundContext` and L for chunks of
  `pipelines.labeled_type`:

      initialize: ( -> S@SERVER)
      next: (<S@SERVER, W@SERVER, R@SERVER, L*@SERVER>
             -> <state=S@SERVER,
                 result=ModelWeights<trainable=T, non_trainable=N>@SERVER,
                 measurements=<loss, accuracy>@SERVER>)

  N are the running statistics of the first replica, if the optimizer keeps any;
  they are for evaluation. Measurements are over all steps of all replicas, NaN
  without any. The optimizer's learning rate is set to the round's.
  """
  weights_type = classifier.weights_type
  data_type = pipelines.labeled_type(classifier.image_shape)

  @tff.tensorflow.computation
  def initialize():
    state = training_loop.initial_optimizer_state(
      optimizer, classifier.initial_weights.trainable
    )
    return tf.nest.map_structure(
      lambda value: tf.stack([value] * num_replicas), state
    )

  state_type = initialize.type_signature.result

  @tff.tensorflow.computation(
    state_type, weights_type, round_context.ROUND_CONTEXT_TYPE, data_type
  )
  def train(
    states: Any,
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    dataset: tf.data.Dataset,
  ):
    data = pipelines.concatenate_chunks(dataset)

    # Nothing to convert: no Python control flow depends on a tensor.
    @tf.autograph.experimental.do_not_convert
    def train_replica(replica_and_state: tuple[tf.Tensor, Any]):
      replica, state = replica_and_state
      return training_fn(
        weights,
        data,
        optimizer.set_hparams(
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
      (tf.range(num_replicas), states),
      fn_output_signature=training_loop.TrainingResult(
        tuple(
          tf.TensorSpec(array.shape, array.dtype)
          for array in classifier.initial_weights.trainable
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
      optimizer, trained.optimizer_state
    )
    replicas = functional.ModelWeights(
      trained.trainable,
      tuple(stacked[0] for stacked in statistics) or weights.non_trainable,
    )
    return trained.optimizer_state, replicas, metrics

  @tff.federated_computation
  def initialize_fn():
    return tff.federated_eval(initialize, tff.SERVER)

  @tff.federated_computation(
    tff.FederatedType(state_type, tff.SERVER),
    tff.FederatedType(weights_type, tff.SERVER),
    tff.FederatedType(round_context.ROUND_CONTEXT_TYPE, tff.SERVER),
    tff.FederatedType(data_type, tff.SERVER),
  )
  def next_fn(state, weights, context, dataset):
    state, replicas, metrics = tff.federated_map(
      train, (state, weights, context, dataset)
    )
    return tff.templates.MeasuredProcessOutput(state, replicas, metrics)

  return tff.templates.MeasuredProcess(initialize_fn, next_fn)
