# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Grouping-based averaging of Zhang et al. (2020), equations 5 to 7.

In each round the clients of the cohort take numbered slots. Slots form groups,
and each group has its own model. The server is a member of every group.
"""

import collections
from collections.abc import Callable, Mapping, Sequence
import functools
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.augment import augmentation
from tff_semifl.baselines.zhang2020 import local_steps
from tff_semifl.baselines.zhang2020 import running_statistics
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.core import optimizers
from tff_semifl.core import server_work
from tff_semifl.core import training_loop
from tff_semifl.data import pipelines
from tff_semifl.models import functional


class SlotMemory(NamedTuple):
  """A slot's number and memory; the next client in the slot gets the memory."""

  slot: Any
  client: Any


def slots_per_group(clients_per_round: int, num_groups: int) -> int:
  """The number of slots of a group; the last group may have fewer.

  Raises a SettingError if a group would have no slot.
  """
  num_slots = max(clients_per_round, 1)
  size = -(-num_slots // num_groups)
  num_filled = -(-num_slots // size)
  if num_filled < num_groups:
    raise settings.SettingError(
      'num_groups',
      num_groups,
      f'{clients_per_round} clients per round, {size} in each group, fill'
      f' {num_filled} groups',
    )
  return size


def group_round(
  p: composition.Parts,
  state: tff.Value,
  server_data: tff.Value,
  client_data: tff.Value,
  memories: tff.Value,
  *,
  num_groups: int,
  group_size: int,
) -> federated_process.RoundOutput:
  """A round of grouping-based averaging.

  With n slots in each group, the client of slot s belongs to group i = s // n
  and starts from the group's model w_avg,i, which the aggregator's state holds.
  For each group, the server trains a replica from the global model w_avg. After
  training, the replica has weights w_s,i and client k has weights w_k; n_i
  clients of the group have an update:

      w_avg,i = (w_s,i + sum of w_k) / (n_i + 1)
      w_avg = mean of w_avg,i                                    (equation 6)

  Non-trainable weights are the server's, as in the authors' code. Round 0 has
  no steps. The `aggregator` metrics are the diversity of the clients' updates.
  """

  def receive(group_weights, weights, memory):
    group = memory.slot // group_size
    return functional.ModelWeights(
      tuple(stacked[group] for stacked in group_weights), weights.non_trainable
    )

  def hand_in(update, update_weight, memory):
    group = memory.slot // group_size
    return place_in_group(update, update_weight, group, num_groups)

  def average(received, sums, replicas):
    group_weights = average_groups(received, sums, replicas.trainable)
    weights = functional.ModelWeights(
      tuple(tf.reduce_mean(stacked, axis=0) for stacked in group_weights),
      replicas.non_trainable,
    )
    return group_weights, weights

  context = p.begin(state)
  # Each client trains the model of its slot's group.
  received = composition.run(
    receive,
    tff.federated_broadcast(state.aggregator),
    tff.federated_broadcast(state.global_model_weights),
    memories,
  )
  trained = p.clients(
    tff.federated_zip((received, tff.federated_broadcast(context))),
    client_data,
    memories.client,
  )
  result = trained.result
  sums = tff.federated_sum(
    composition.run(hand_in, result.update, result.update_weight, memories)
  )
  # The server trains a replica of the global model for each group. The replica
  # is averaged with the group's clients.
  served = p.server(state, state.global_model_weights, context, server_data)
  group_weights, weights = composition.run(
    average, state.aggregator, sums, served.weights
  )
  diversity = collections.OrderedDict(
    (name, trained.measurements[name])
    for name in ('weight_diversity', 'relative_weight_diversity')
  )
  output = p.finish(
    state,
    context,
    trained,
    server_data,
    {'server': served.measurements, 'aggregator': diversity},
    global_model_weights=weights,
    aggregator=group_weights,
    server_work=served.state,
  )
  return output._replace(
    memories=tff.federated_zip(
      SlotMemory(slot=memories.slot, client=result.memory)
    )
  )


class Groups(NamedTuple):
  """The aggregator of `group_round`; the state is the groups' weights."""

  classifier: functional.ImageClassifier
  num_groups: int

  def initialize(self) -> tff.Value:
    weights = tuple(self.classifier.initial_weights.trainable)
    return tff.federated_eval(
      tff.tensorflow.computation(lambda: _stack(weights, self.num_groups)),
      tff.SERVER,
    )


def place_in_group(
  update: tuple[tf.Tensor, ...],
  update_weight: tf.Tensor,
  group: tf.Tensor,
  num_groups: int,
) -> tuple[tuple[tf.Tensor, ...], tf.Tensor]:
  """A client's weighted update and weight, by group, 0 for other groups."""
  weight = update_weight * tf.one_hot(group, num_groups)
  return tuple(tf.tensordot(weight, array, axes=0) for array in update), weight


def average_groups(
  received: tuple[tf.Tensor, ...],
  sums: tuple[tuple[tf.Tensor, ...], tf.Tensor],
  replicas: tuple[tf.Tensor, ...],
) -> tuple[tf.Tensor, ...]:
  """The weighted mean of each group's clients and replica, stacked by group.

  `sums` are the results of `place_in_group`, summed over all clients.
  """
  updates, weights = sums

  def average(stacked, update, replica):
    weight = tf.reshape(weights, [-1] + [1] * (len(replica.shape) - 1))
    return (replica + weight * stacked - update) / (weight + 1.0)

  return tuple(map(average, received, updates, replicas))


def build_replicated_server_work(
  steps: local_steps.LocalSteps,
  weak_augmentation: augmentation.Augmentation,
  num_replicas: int,
) -> server_work.ServerWork:
  """Builds server work that trains a replica of one model for each group.

  Each replica has its own order of images, augmentation, dropout and momentum.
  States and weights are stacked along the first dimension. Non-trainable
  weights are the running statistics of the first replica, if its optimizer
  tracks any.
  """

  def initialize():
    state = training_loop.initial_optimizer_state(
      steps.optimizer, steps.classifier.initial_weights.trainable
    )
    return _stack(state, num_replicas)

  return server_work.ServerWork(
    initialize=initialize,
    train=functools.partial(
      _train_replicas, steps, weak_augmentation, num_replicas
    ),
  )


def _train_replicas(
  steps: local_steps.LocalSteps,
  weak_augmentation: augmentation.Augmentation,
  num_replicas: int,
  states: Any,
  weights: functional.ModelWeights,
  context: federated_process.RoundContext,
  dataset: tf.data.Dataset,
) -> tuple[Any, functional.ModelWeights, Mapping[str, tf.Tensor]]:
  data, optimizer = pipelines.concatenate_chunks(dataset), steps.optimizer

  # AutoGraph is not needed: no Python control flow depends on a tensor.
  @tf.autograph.experimental.do_not_convert
  def train_replica(replica_and_state):
    replica, state = replica_and_state
    return local_steps.train_on_labels(
      steps,
      weak_augmentation,
      weights,
      data,
      optimizers.with_rate(optimizer, state, context.learning_rate),
      federated_process.Node(context, -1 - replica),
    )

  scalar = tf.TensorSpec([], tf.float32)
  # One replica at a time, to save memory of the device.
  trained = tf.map_fn(
    train_replica,
    (tf.range(num_replicas), states),
    fn_output_signature=training_loop.TrainingResult(
      tuple(
        tf.TensorSpec(array.shape, array.dtype) for array in weights.trainable
      ),
      tf.nest.map_structure(
        lambda value: tf.TensorSpec(value.shape[1:], value.dtype), states
      ),
      training_loop.TrainingSums(scalar, scalar, scalar, scalar),
    ),
    parallel_iterations=1,
  )
  sums = tf.nest.map_structure(tf.reduce_sum, trained.sums)
  statistics = running_statistics.get_statistics(
    optimizer, trained.optimizer_state
  )
  replicas = functional.ModelWeights(
    trained.trainable,
    tuple(stacked[0] for stacked in statistics) or weights.non_trainable,
  )
  metrics = collections.OrderedDict(
    loss=sums.loss / sums.num_examples,
    accuracy=sums.num_correct / sums.num_examples,
  )
  return trained.optimizer_state, replicas, metrics


def _stack(structure: Any, number: int) -> Any:
  """Stacks `number` copies of tensors or arrays along a new first dimension."""
  return tf.nest.map_structure(
    lambda value: tf.stack([value] * number), structure
  )


class SlotMemories:
  """A `client_states.Memories` of slots, as in the code of Zhang et al.

  Clients take slots in the random order of the cohort. If clients drop out,
  later clients move up; the last slots stay empty and keep their memories.
  """

  def __init__(
    self, initialize_memory: Callable[[], SlotMemory], num_slots: int
  ):
    self._initialize_memory = initialize_memory
    self._num_slots = num_slots

  def initialize(self) -> tuple[SlotMemory, ...]:
    memory = self._initialize_memory()
    return tuple(
      memory._replace(slot=np.int32(number))
      for number in range(self._num_slots)
    )

  def recall(
    self, held: tuple[SlotMemory, ...], round_num: int, cohort: Sequence[int]
  ) -> list[SlotMemory]:
    del round_num
    return list(held[: len(cohort)])

  def keep(
    self,
    held: tuple[SlotMemory, ...],
    round_num: int,
    cohort: Sequence[int],
    returned: Sequence[SlotMemory | None],
  ) -> tuple[SlotMemory, ...]:
    del round_num
    kept = [
      before if after is None else after
      for before, after in zip(held, returned, strict=False)
    ]
    return (*kept, *held[len(cohort) :])
