# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The size of a cell of SemiFL's Table 1: CIFAR-10 with 4000 labels, IID."""

from typing import NamedTuple

from benchmarks import federation
from tff_semifl.experiments import presets

_NAME = 'semifl/cifar10_4000_iid'
_NUM_IMAGES = 50_000


class Cell(NamedTuple):
  """A cell.

  Attributes:
    size: Of its federation: the clients of a round, and the server.
    num_rounds: Rounds.
    num_client_steps: Steps that clients take in all rounds, if they are sure of
      all their images.
  """

  size: federation.Size
  num_rounds: int
  num_client_steps: int


def read() -> Cell:
  """Returns the cell as the preset has it."""
  preset = presets.load(_NAME).settings
  num_labeled = preset['num_labeled']
  size = federation.Size(
    num_clients=preset['clients_per_round'],
    images_per_client=(_NUM_IMAGES - num_labeled) // preset['num_clients'],
    num_labeled=num_labeled,
    num_epochs=preset['client_epochs'],
  )
  num_rounds = preset['total_rounds']
  return Cell(
    size=size,
    num_rounds=num_rounds,
    num_client_steps=num_rounds
    * size.num_clients
    * federation.count_steps(size, preset['client_batch_size']),
  )
