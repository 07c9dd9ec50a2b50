# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Holds out clients' images for testing, and server images for validation."""

from collections.abc import Sequence
import dataclasses
from typing import Any, NamedTuple

import numpy as np

from tff_semifl import settings
from tff_semifl.data import sources
from tff_semifl.randomness import random_seeds


class ClientTest(NamedTuple):
  """Clients' images on which a model is measured.

  `shares` has for each client the int64 indices of its images in `pool`.
  """

  pool: sources.ImagePool
  shares: Sequence[np.ndarray]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientTestSplit(settings.Settings):
  """The setting `client_test_fraction`, the share of images held out."""

  client_test_fraction: float = settings.setting(
    0.0,
    "Share of each client's images that is held out from training and from the"
    ' estimation of class shares. The exported model is measured on these'
    ' images, by itself and with the class shares of the client'
    ' (--client_accuracy, which is then the default). Their labels are only'
    ' for the measurement.',
    settings.between(0, 0.9),
  )

  def hold_out(
    self, pool: sources.ImagePool, shares: Sequence[np.ndarray], seed: int
  ) -> dict[str, Any]:
    """Holds out images of each client; returns new fields of `FederatedData`.

    The number of a client's held-out images is rounded down.
    """
    drawn = []
    for client, share in enumerate(shares):
      generator = random_seeds.numpy_generator(
        seed, random_seeds.Purpose.CLIENT_TEST, client
      )
      number = int(self.client_test_fraction * len(share))
      drawn.append(np.sort(generator.permutation(share)[:number]))
    if not any(map(len, drawn)):
      raise self.error(
        'client_test_fraction',
        f'no client has {1 / self.client_test_fraction:.2g} images, of which'
        ' one could be held out',
      )
    is_test = np.zeros(len(pool.true_labels), bool)
    is_test[np.concatenate(drawn)] = True
    # The new index of each image, among kept images or among held-out images.
    place = np.where(is_test, np.cumsum(is_test), np.cumsum(~is_test)) - 1
    parts = [
      pool.select(chosen)
      for chosen in (np.flatnonzero(~is_test), np.flatnonzero(is_test))
    ]
    kept = [place[share[~is_test[share]]] for share in shares]
    tested = ClientTest(parts[1], [place[each] for each in drawn])
    return {'unlabeled': parts[0], 'shares': kept, 'client_test': tested}


def draw_validation(
  labels: np.ndarray, labeled: np.ndarray, num_validation: int, seed: int
) -> np.ndarray:
  """Draws labeled images for validation, evenly from the classes if possible.

  Each class keeps at least one image for training. `labels`, int [num_images],
  has the class of each image; `labeled` has the int64 indices of the labeled
  images. Returns sorted indices, int64 [num_validation].
  """
  generator = random_seeds.numpy_generator(
    seed, random_seeds.Purpose.VALIDATION_SPLIT
  )
  shuffled = generator.permutation(np.sort(labeled))
  # Classes give one image each in turn, but not their last image.
  turns, drawn = [], []
  for class_index in np.unique(labels[shuffled]):
    of_class = shuffled[labels[shuffled] == class_index][:-1]
    drawn.append(of_class)
    turns.append(np.arange(len(of_class)))
  candidates = np.concatenate(drawn or [labeled])
  if num_validation > len(candidates):
    raise ValueError(
      f'the server has {len(labeled)} labeled images of {len(drawn)} classes,'
      f' and trains on at least one of each; {len(candidates)} at most are left'
      ' to validate on'
    )
  # Ties between classes are broken at random.
  order = np.lexsort(
    [generator.permutation(len(candidates)), np.concatenate(turns)]
  )
  return np.sort(candidates[order[:num_validation]])
