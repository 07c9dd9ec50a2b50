# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The choice of helpers in FedMatch, where clients help each other.

The server remembers the model of each client and its output for a fixed image.
Every tenth round each client of the cohort with a known model is sent the two
models with the most similar outputs.
"""

from collections.abc import Sequence
import pathlib
from typing import Any

import numpy as np
from scipy import spatial
import tensorflow as tf

from tff_semifl.baselines.fedmatch import fedmatch_process
from tff_semifl.core import federated_process
from tff_semifl.runs import client_states


class Helpers:
  """A `client_states.Memories` that keeps clients' models and chooses helpers.

  It keeps files of each client's model and output for each of the last rounds
  that it took part in. From these and the process's state after such a round, a
  run repeats the later rounds exactly.
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
    """Initializes the helpers; nothing is read or written yet.

    `num_kept` is the number of latest rounds that a run may resume from.
    """
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
      # NaN marks the output of a client whose model is not known.
      lambda: np.full(model_type.output.shape, np.nan, np.float32),
      num_kept=num_kept,
    )

  def initialize(self) -> tuple[()]:
    """The empty tuple, as nothing is held in main memory."""
    return ()

  def recall(
    self, held: tuple[()], round_num: int, cohort: Sequence[int]
  ) -> list[Any]:
    """Phi of the helpers of each client of a cohort, stacked."""
    del held
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
    returned: Sequence[fedmatch_process.ClientModel | None],
  ) -> tuple[()]:
    """Saves the usable models of a cohort, and their outputs."""
    for client, model in zip(cohort, returned, strict=True):
      if model is not None and model.is_usable:
        self._models.save([client], [model.phi], round_num)
        self._outputs.save([client], [model.output], round_num)
    return held


def choose_helpers(
  outputs: np.ndarray, clients: Sequence[int], num_helpers: int
) -> list[Sequence[int]]:
  """Chooses the clients with the nearest outputs, the nearest first.

  Outputs are float [clients, classes], NaN for clients whose model is not
  known. A client whose model is not known has no helpers; with too few known
  models, no client has.
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
    # Another client's output may be at distance 0, like the client's own.
    _, nearest = tree.query(outputs[client], k=num_helpers + 1)
    others = [int(helper) for helper in known[nearest] if helper != client]
    choices.append(others[:num_helpers])
  return choices
