# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Keeps what slots keep from round to round, with the state of the process.

Of the benchmark's users, momentum belongs not to them but to the slots that
they take in a round (D47). There are as many slots as users in a round, so that
their states are held in memory, and are part of a checkpoint.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.algorithms import group_averaging
from tff_semifl.algorithms import labeled_outputs
from tff_semifl.algorithms import stateful_process


class SlottedState(NamedTuple):
  """A `GroupState` and the states of all slots.

  Attributes:
    global_model_weights: As in `GroupState`.
    group_weights: Likewise.
    client_work: Likewise.
    server_work: Likewise.
    round_num: Likewise.
    seed: Likewise.
    slots: A `SlotState` for each slot, in the order of their numbers.
  """

  global_model_weights: Any
  group_weights: Any
  client_work: Any
  server_work: Any
  round_num: Any
  seed: Any
  slots: Any


class SlottedProcess:
  """A process of groups as `training.train` runs it: clients keep nothing.

  Clients take slots in the order in which they come, which
  `ClientPopulation.cohort` makes random. If some vanish, those after them move
  up, and it is the last slots that nobody takes; they keep what they have.
  """

  def __init__(self, process: stateful_process.StatefulProcess, num_slots: int):
    """Initialises the process.

    Args:
      process: From `compose_group_averaging_process`.
      num_slots: Its number of clients per round.
    """
    self._process = process
    self._num_slots = num_slots

  @property
  def process(self) -> stateful_process.StatefulProcess:
    """The process without its slots."""
    return self._process

  @property
  def num_slots(self) -> int:
    """How many slots there are."""
    return self._num_slots

  def initialize(self) -> SlottedState:
    """Returns the state before the first round."""
    slot = self._process.initialize_client_state()
    return SlottedState(
      *self._process.initialize(),
      slots=tuple(
        slot._replace(slot=np.int32(number))
        for number in range(self._num_slots)
      ),
    )

  def next(
    self,
    state: SlottedState,
    server_data: tf.data.Dataset,
    client_data: Sequence[tf.data.Dataset],
  ) -> (
    tff.learning.templates.LearningProcessOutput | labeled_outputs.LabeledOutput
  ):
    """Runs a round.

    Args:
      state: The state before it.
      server_data: As the process takes it.
      client_data: Likewise, in the order of slots.

    Raises:
      ValueError: If there are more clients than slots.
    """
    if len(client_data) > self._num_slots:
      raise ValueError(
        f'{len(client_data)} clients cannot take {self._num_slots} slots.'
      )
    num_taken = len(client_data)
    *process_state, slots = state
    output = self._process.next(
      group_averaging.GroupState(*process_state),
      server_data,
      client_data,
      list(slots[:num_taken]),
    )
    result = tff.learning.templates.LearningProcessOutput(
      SlottedState(
        *output.state,
        slots=(*output.client_states, *slots[num_taken:]),
      ),
      output.metrics,
    )
    if isinstance(output, labeled_outputs.StatefulLabeledOutput):
      return labeled_outputs.add_labels(result, output.given_labels)
    return result
