# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Who helps whom, for a process in which clients are helped by others (D.6).

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

from tff_semifl.algorithms import federated_process
from tff_semifl.programs import client_states
from tff_semifl.work import fedmatch_client_work


class Helpers:
  """Remembers models, and sends them to clients to help (`memories.Memories`).

  What is remembered of clients is in files, one of each client's model and one
  of its output for each of the last rounds that it took part in. With them and
  the process's state of any of these rounds, a run goes on as it did before.
  """

  def __init__(
    self,
    process: federated_process.FederatedProcess,
    folder: pathlib.Path,
    *,
    num_clients: int,
    num_helpers: int = 2,
    rounds_per_help: int = 10,
    num_kept: int,
  ):
    """Initialises the helpers; nothing is read or written yet.

    Args:
      process: From `build_fedmatch`.
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
    self._no_helpers = process.initialize_memory
    self._num_clients = num_clients
    self._num_helpers = num_helpers
    self._rounds_per_help = rounds_per_help
    model_type = process.next.type_signature.result.memories.member
    self._models = client_states.ClientStates(
      folder / 'models',
      lambda: tuple(
        np.zeros(part.shape, part.dtype) for part in model_type.phi
      ),
      num_kept=num_kept,
    )
    self._outputs = client_states.ClientStates(
      folder / 'outputs',
      # What is no number is known to be of no client.
      lambda: np.full(model_type.output.shape, np.nan, np.float32),
      num_kept=num_kept,
    )

  def initialize(self) -> tuple[()]:
    """Returns what is held: nothing, as all is in files."""
    return ()

  def recall(
    self, held: tuple[()], round_num: int, cohort: Sequence[int]
  ) -> list[Any]:
    """Returns what each of a cohort is sent: phi of its helpers, stacked.

    Args:
      held: Nothing.
      round_num: The round.
      cohort: Numbers of the clients.
    """
    del held  # Nothing.
    choices = [()] * len(cohort)
    if cohort and round_num % self._rounds_per_help == 0:
      outputs = self._outputs.load(range(self._num_clients), round_num)
      choices = choose_helpers(np.stack(outputs), cohort, self._num_helpers)
    return [
      tf.nest.map_structure(
        lambda *arrays: np.stack(arrays),
        *self._models.load(helpers, round_num),
      )
      if helpers
      else self._no_helpers()
      for helpers in choices
    ]

  def keep(
    self,
    held: tuple[()],
    round_num: int,
    cohort: Sequence[int],
    returned: Sequence[fedmatch_client_work.ClientModel],
  ) -> tuple[()]:
    """Remembers the models of those of a cohort that have trained them.

    Args:
      held: Nothing.
      round_num: The round.
      cohort: Numbers of the clients.
      returned: Their models.
    """
    for client, model in zip(cohort, returned, strict=True):
      if model.is_usable:
        self._models.save([client], [model.phi], round_num)
        self._outputs.save([client], [model.output], round_num)
    return held


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
