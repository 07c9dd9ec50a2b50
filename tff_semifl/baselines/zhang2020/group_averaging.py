# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Grouping-based averaging: federated averaging in groups of clients.

In each round the clients take slots, which are divided into groups. Each group
has a model of its own. The server is a member of every group, which keeps their
models close to each other.

References:
  Zhang et al. Benchmarking semi-supervised federated learning. 2020. Equations
  5 to 7.
"""

import collections
from collections.abc import Callable
import dataclasses
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.baselines.zhang2020 import group_mean
from tff_semifl.core import federated_process
from tff_semifl.core import round_context
from tff_semifl.models import functional
from tff_semifl.training import client_work_process


class GroupState(NamedTuple):
  """State of a process of a server and groups of clients.

  Attributes:
    global_model_weights: w_avg, the mean of the groups' models, from which the
      server goes on and which is evaluated.
    group_weights: w_avg,i, the trainable weights of all groups, stacked along
      the first dimension.
    server_work: State of the server's replicas, such as their momenta.
    round_num: int32, the number of the next round.
  """

  global_model_weights: Any
  group_weights: Any
  client_work: Any
  server_work: Any
  round_num: Any
  seed: Any


class SlotMemory(NamedTuple):
  """The memory of a slot, whichever client takes it.

  Attributes:
    slot: int32, the slot's number, from 0, set by the program that stores the
      memories.
    client: The memory of the client work, such as a momentum.
  """

  slot: Any
  client: Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class GroupParts:
  """The components of a process of a server and groups of clients.

  Attributes:
    learning_rate_fn: Round -> learning rate to report.
    client_work: Takes `<model weights, RoundContext>`, client data, memories.
    server_work: From `build_replicated_server_work`, one replica a group.
    num_groups: S. With 1 it is federated averaging (equation 5).
    clients_per_round: C_k, the number of slots.
  """

  classifier: functional.ImageClassifier
  seed: int
  learning_rate_fn: Callable[[tf.Tensor], tf.Tensor]
  client_work: client_work_process.ClientWorkProcess
  server_work: tff.templates.MeasuredProcess
  num_groups: int
  clients_per_round: int


def slots_per_group(clients_per_round: int, num_groups: int) -> int:
  """The number of slots of a group; the last group may have fewer.

  With 0 clients per round, the server trains alone in one group.

  Raises:
    ValueError: If a group would have no slot.
  """
  num_slots = max(clients_per_round, 1)
  if not 1 <= num_groups <= num_slots:
    raise ValueError(
      f'{clients_per_round} clients per round cannot be in {num_groups} groups;'
      f' num_groups can be 1 to {num_slots}'
    )
  size = -(-num_slots // num_groups)
  num_taken = -(-num_slots // size)
  if num_taken < num_groups:
    raise ValueError(
      f'{clients_per_round} clients per round, {size} in each group, fill'
      f' {num_taken} groups and not {num_groups}'
    )
  return size


def compose_group_averaging_process(
  parts: GroupParts,
) -> federated_process.FederatedProcess:
  """Composes a process of a server and groups of clients.

  A client's memory contains its slot. With n slots in each group, slot s
  belongs to group i = s // n, and its client starts from w_avg,i. The server's
  replica for the group starts from w_avg. With w_s,i and w_k for the weights
  that replica and client have trained, and n_i for the number of clients of
  group i that count:

      w_avg,i = (w_s,i + sum of w_k) / (n_i + 1)
      w_avg = mean of w_avg,i                                    (equation 6)

  With one group this is federated averaging with the server as one more client
  (equation 5). A group without clients continues with its replica.
  Non-trainable weights are not averaged, as in the authors' code: the evaluated
  model has the server's. In round 0 nobody takes a step (`local_steps`): Zhang
  et al. have no update of the server alone.

  Returns:
    A process with a `GroupState` as its state and a `SlotMemory` as a client's
    memory. Its metrics are those of `round_process.build_process`; `aggregator`
    repeats the weight diversity of the clients' updates.

  Raises:
    ValueError: If a group would have no slot.
  """
  weights_type = parts.classifier.weights_type
  initialize_fn = _build_initialize(parts)
  group_weights_type = initialize_fn.type_signature.result.member.group_weights
  client_work = parts.client_work
  group_size = slots_per_group(parts.clients_per_round, parts.num_groups)

  @tff.tensorflow.computation
  def initialize_memory():
    return SlotMemory(
      slot=tf.constant(0, tf.int32), client=client_work.initialize_memory()
    )

  slot_type = initialize_memory.type_signature.result
  begin_round = round_context.build_beginning(parts.learning_rate_fn)

  @tff.tensorflow.computation(group_weights_type, weights_type, slot_type)
  def receive(group_weights: Any, weights: Any, memory: SlotMemory):
    group = memory.slot // group_size
    return functional.ModelWeights(
      tuple(stacked[group] for stacked in group_weights),
      weights.non_trainable,
    )

  @tff.tensorflow.computation(weights_type.trainable, np.float32, slot_type)
  def hand_in(update: Any, update_weight: tf.Tensor, memory: SlotMemory):
    return group_mean.hand_in(
      update,
      update_weight,
      memory.slot // group_size,
      num_groups=parts.num_groups,
    )

  @tff.tensorflow.computation(
    group_weights_type,
    hand_in.type_signature.result,
    parts.server_work.next.type_signature.result.result.member,
  )
  def average(
    received: Any,
    sums: group_mean.GroupSums,
    replicas: functional.ModelWeights,
  ):
    group_weights = group_mean.average_groups(
      received, sums, replicas.trainable
    )
    weights = functional.ModelWeights(
      tuple(tf.reduce_mean(stacked, axis=0) for stacked in group_weights),
      replicas.non_trainable,
    )
    return group_weights, weights

  def run_round(state, server_data, client_data, memories):
    context, next_round_num = tff.federated_map(
      begin_round, (state.seed, state.round_num)
    )
    # Each client trains the model of its slot's group.
    received = tff.federated_map(
      receive,
      (
        tff.federated_broadcast(state.group_weights),
        tff.federated_broadcast(state.global_model_weights),
        memories,
      ),
    )
    trained = client_work.next(
      state.client_work,
      tff.federated_zip((received, tff.federated_broadcast(context))),
      client_data,
      memories.client,
    )
    sums = tff.federated_sum(
      tff.federated_map(
        hand_in,
        (trained.result.update, trained.result.update_weight, memories),
      )
    )
    # The server trains a replica of the mean of these models for each group,
    served = parts.server_work.next(
      state.server_work, state.global_model_weights, context, server_data
    )
    # and each replica is averaged with the clients of its group.
    group_weights, weights = tff.federated_map(
      average, (state.group_weights, sums, served.result)
    )
    return federated_process.RoundOutput(
      state=tff.federated_zip(
        GroupState(
          global_model_weights=weights,
          group_weights=group_weights,
          client_work=trained.state,
          server_work=served.state,
          round_num=next_round_num,
          seed=state.seed,
        )
      ),
      metrics=tff.federated_zip(
        collections.OrderedDict(
          client=trained.measurements,
          server=served.measurements,
          aggregator=collections.OrderedDict(
            (name, trained.measurements[name])
            for name in ('weight_diversity', 'relative_weight_diversity')
          ),
          learning_rate=context.learning_rate,
        )
      ),
      memories=tff.federated_zip(
        SlotMemory(slot=memories.slot, client=trained.result.memory)
      ),
      given_labels=trained.result.given_labels,
    )

  return federated_process.build_federated_process(
    initialize_fn,
    run_round,
    server_data_type=parts.server_work.next.type_signature.parameter[3],
    client_data_type=client_work.next.type_signature.parameter[2],
    initialize_memory=initialize_memory,
  )


def _build_initialize(parts: GroupParts) -> tff.Computation:
  """Builds ( -> GroupState@SERVER), in which all models are equal."""

  @tff.tensorflow.computation
  def initial_values():
    weights = tf.nest.map_structure(
      tf.constant, parts.classifier.initial_weights
    )
    group_weights = tuple(
      tf.stack([array] * parts.num_groups) for array in weights.trainable
    )
    return (
      weights,
      group_weights,
      tf.constant(0, tf.int32),
      tf.constant(parts.seed, tf.int32),
    )

  @tff.federated_computation
  def initialize_fn():
    weights, group_weights, round_num, seed = tff.federated_eval(
      initial_values, tff.SERVER
    )
    return tff.federated_zip(
      GroupState(
        global_model_weights=weights,
        group_weights=group_weights,
        client_work=parts.client_work.initialize(),
        server_work=parts.server_work.initialize(),
        round_num=round_num,
        seed=seed,
      )
    )

  return initialize_fn
