# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Rounds of the systems of Zhang et al. with the linear model, in NumPy."""

import collections
from collections.abc import Mapping
import math
import types
from typing import Any

import numpy as np

from tests import linear_reference
from tests import local_steps_reference
from tests import small_systems
from tff_semifl.baselines.zhang2020 import group_averaging
from tff_semifl.core import composition
from tff_semifl.core import federated_process

SEED = 7
NUM_STEPS = 3
BATCH_SIZE = 2
# Some confidences are above this threshold, others below.
THRESHOLD = 0.37
WARM_UP = 2
SCHEDULE = 20
BASE = 0.4

SETTINGS = types.MappingProxyType(
  {
    'clients_per_round': 3,
    'num_groups': 2,
    'steps_per_round': NUM_STEPS,
    'batch_size': BATCH_SIZE,
    'confidence_threshold': THRESHOLD,
    'learning_rate': BASE,
    'warm_up_steps': WARM_UP,
    'schedule_steps': SCHEDULE,
  }
)


def build(
  system_name: str,
  changes: Mapping[str, Any] = types.MappingProxyType({}),
  **ingredients: Any,
) -> federated_process.FederatedProcess:
  """Builds a system with `SETTINGS` and two different augmentations."""
  views = {
    'weak_augmentation': linear_reference.shifted,
    'strong_augmentation': linear_reference.inverted,
  }
  return small_systems.build(
    system_name, changes, usual=SETTINGS, seed=SEED, **(views | ingredients)
  )


def learning_rates(round_num):
  """The learning rates of a round's steps, by equation 10 with c = 7/16."""
  rates = []
  for t in range((round_num - 1) * NUM_STEPS, round_num * NUM_STEPS):
    share = (t - WARM_UP) / (SCHEDULE - WARM_UP)
    cosine = max(math.cos(math.pi * 7 / 16 * share), 1e-4)
    rates.append(BASE * (t / WARM_UP if t < WARM_UP else cosine))
  return rates


class Reference:
  """The state of a process, in NumPy."""

  def __init__(self, num_groups, num_slots, group_size):
    initial = linear_reference.create_classifier().initial_weights.trainable
    self.group_size = group_size
    self.average = [np.asarray(array, np.float64) for array in initial]
    self.groups = [self.average] * num_groups
    zeros = [np.zeros_like(array) for array in self.average]
    self.slot_momenta = [zeros] * num_slots
    self.server_momenta = [zeros] * num_groups

  def run_round(self, problem, cohort, round_num, **client_options):
    """Runs a round; returns server rounds, client rounds and updates."""
    common = {
      'seed': SEED,
      'round_num': round_num,
      'num_steps': NUM_STEPS,
      'batch_size': BATCH_SIZE,
      'learning_rates': learning_rates(round_num),
      'weak': linear_reference.shifted,
    }
    members = collections.defaultdict(list)
    clients, updates = [], []
    for slot, client_id in enumerate(cohort):
      group = slot // self.group_size
      result = local_steps_reference.train_node(
        self.groups[group],
        self.slot_momenta[slot],
        problem.clients[client_id][1],
        node=client_id,
        **common,
        **client_options,
      )
      self.slot_momenta[slot] = result.accumulator
      members[group].append(result.weights)
      updates.append(result.weights[0] - self.groups[group][0])
      clients.append(result)
    servers = []
    for group in range(len(self.groups)):
      result = local_steps_reference.train_node(
        self.average,
        self.server_momenta[group],
        problem.images,
        labels=problem.labels,
        node=-1 - group,
        **common,
      )
      self.server_momenta[group] = result.accumulator
      members[group].append(result.weights)
      servers.append(result)
    self.groups = [
      [np.mean(arrays, axis=0) for arrays in zip(*members[g], strict=True)]
      for g in range(len(self.groups))
    ]
    self.average = [
      np.mean(arrays, axis=0) for arrays in zip(*self.groups, strict=True)
    ]
    return servers, clients, updates


def assert_close(found, expected):
  for a, b in zip(found, expected, strict=True):
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


# A `GroupState`, and the memories of all slots.
SlottedState = collections.namedtuple(
  'SlottedState', (*composition.RoundState._fields, 'slots')
)


class SlottedProcess:
  """A process with a `SlotMemories`, which keeps the state of slots."""

  def __init__(
    self, process: federated_process.FederatedProcess, num_slots: int
  ):
    """Initializes the process."""
    self._process = process
    self._memories = group_averaging.SlotMemories(
      process.initialize_memory, num_slots
    )

  def initialize(self) -> SlottedState:
    """The state before the first round."""
    return SlottedState(
      *self._process.initialize(), slots=self._memories.initialize()
    )

  def next(
    self, state: SlottedState, server_data: Any, client_data: list[Any]
  ) -> federated_process.RoundOutput:
    """Runs a round; clients are in the order of slots."""
    *process_state, held = state
    cohort = range(len(client_data))
    # The state of slots does not contain the round number.
    output = self._process.next(
      composition.RoundState(*process_state),
      server_data,
      client_data,
      self._memories.recall(held, 0, cohort),
    )
    held = self._memories.keep(held, 0, cohort, output.memories)
    return output._replace(state=SlottedState(*output.state, slots=held))
