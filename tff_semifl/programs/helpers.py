# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Who helps whom, for processes in which clients are helped by others (D.6).

FedMatch's server remembers the model of each client, and what it says of one
fixed image. Every tenth round it sends each client of the cohort that it knows
the models of the two that say the most similar things.
"""

from collections.abc import Sequence
import pathlib
from typing import Any

import numpy as np
from scipy import spatial
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.algorithms import helped_process
from tff_semifl.algorithms import labeled_outputs
from tff_semifl.programs import client_states


class ProcessWithHelpers:
  """A `HelpedProcess` to be run like one that takes no helpers.

  What is remembered of clients is in files, one of each client's model and one
  of its output for each of the last rounds that it took part in. With them and
  the process's state of any of these rounds, it goes on as it did before.
  """

  def __init__(
    self,
    process: helped_process.HelpedProcess,
    folder: pathlib.Path,
    *,
    num_clients: int,
    num_helpers: int = 2,
    rounds_per_help: int = 10,
    num_kept: int,
  ):
    """Initialises the process; nothing is read or written yet.

    Args:
      process: What takes helpers.
      folder: Where the files are, or will be.
      num_clients: Size of the population.
      num_helpers: How many helpers a client has, if it has any (H).
      rounds_per_help: Only every so many rounds are there helpers.
      num_kept: How many of the last rounds must be possible to go back to.

    Raises:
      ValueError: If a number is not positive.
    """
    for name, value in (
      ('num_helpers', num_helpers),
      ('rounds_per_help', rounds_per_help),
    ):
      if value < 1:
        raise ValueError(f'`{name}` must be positive, found {value}.')
    self._process = process
    self._num_clients = num_clients
    self._num_helpers = num_helpers
    self._rounds_per_help = rounds_per_help
    model_type = process.next.type_signature.result.client_models.member
    self._models = client_states.ClientStates(
      folder / 'models',
      lambda: _zeros(model_type.phi),
      num_kept=num_kept,
    )
    self._outputs = client_states.ClientStates(
      folder / 'outputs',
      # What is no number is known to be of no client.
      lambda: np.full(model_type.output.shape, np.nan, np.float32),
      num_kept=num_kept,
    )

  @property
  def initialize(self) -> tff.Computation:
    """That of the process."""
    return self._process.initialize

  def next(
    self,
    state: Any,
    server_data: tf.data.Dataset,
    client_data: Sequence[tf.data.Dataset],
  ) -> (
    tff.learning.templates.LearningProcessOutput | labeled_outputs.LabeledOutput
  ):
    """Runs a round, and remembers the models of the cohort.

    Args:
      state: The state before it. If the round has been run before, what is
        remembered is replaced.
      server_data: The server's.
      client_data: The cohort's, each with its client's number.
    """
    round_num = int(state.round_num)
    cohort = [_client_id(dataset) for dataset in client_data]
    output = self._process.next(
      state, server_data, client_data, self._load_helpers(cohort, round_num)
    )
    for client, model in zip(cohort, output.client_models, strict=True):
      if model.is_usable:
        self._models.save([client], [model.phi], round_num)
        self._outputs.save([client], [model.output], round_num)
    result = tff.learning.templates.LearningProcessOutput(
      output.state, output.metrics
    )
    if isinstance(output, labeled_outputs.HelpedLabeledOutput):
      return labeled_outputs.add_labels(result, output.given_labels)
    return result

  def _load_helpers(self, cohort: Sequence[int], round_num: int) -> list[Any]:
    """Returns what each of a cohort is sent: phi of its helpers, stacked."""
    nobody = [()] * len(cohort)
    choices = nobody
    if cohort and round_num % self._rounds_per_help == 0:
      outputs = self._outputs.load(range(self._num_clients), round_num)
      choices = choose_helpers(np.stack(outputs), cohort, self._num_helpers)
    helpers_type = self._process.next.type_signature.parameter.helpers.member
    return [
      tf.nest.map_structure(
        lambda *arrays: np.stack(arrays),
        *self._models.load(helpers, round_num),
      )
      if helpers
      else _zeros(helpers_type)
      for helpers in choices
    ]


def choose_helpers(
  outputs: np.ndarray, clients: Sequence[int], num_helpers: int
) -> list[Sequence[int]]:
  """Chooses the clients whose outputs are nearest, the nearest first.

  Args:
    outputs: float [clients, classes]; not a number for clients that are not
      known.
    clients: Numbers of those to be helped.
    num_helpers: How many helpers each is to have.

  Returns:
    For each of `clients` the numbers of its helpers, none of which is itself.
    There are none for a client that is not known, and none at all if not enough
    are.
  """
  known = np.flatnonzero(np.all(np.isfinite(outputs), axis=1))
  if len(known) <= num_helpers:
    return [()] * len(clients)
  tree = spatial.cKDTree(outputs[known])
  choices = []
  for client in clients:
    if client not in known:
      choices.append(())
      continue
    # Nobody is nearer than the client itself, but others may be as near.
    _, nearest = tree.query(outputs[client], k=num_helpers + 1)
    others = [int(helper) for helper in known[nearest] if helper != client]
    choices.append(others[:num_helpers])
  return choices


def _client_id(dataset: tf.data.Dataset) -> int:
  """Returns the number of the client that a dataset is of."""
  return int(next(iter(dataset))['client_id'])


def _zeros(value_type: tff.Type) -> Any:
  """Returns tensors of zeros, none at all along a dimension of any size."""
  return tuple(
    np.zeros([size or 0 for size in part.shape], part.dtype)
    for part in value_type
  )
