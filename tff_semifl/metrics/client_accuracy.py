# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The accuracy on each client's images, and its spread over clients."""

from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np

_WORST_SHARE = 10


class ClientAccuracy(NamedTuple):
  """A model's accuracy on a client's labeled images (at least one)."""

  client: str
  num_right: int
  num_images: int

  @property
  def accuracy(self) -> float:
    """The fraction of correct predictions."""
    return self.num_right / self.num_images


class Spread(NamedTuple):
  """A summary of clients' accuracies that weights all clients equally.

  Attributes:
    num_clients: The number of clients with labeled images.
    deviation: The standard deviation over clients.
    worst_tenth: The mean accuracy of the worst ceil(n / 10) clients.
    worst: The client with the lowest accuracy; in a tie, the first client.
  """

  num_clients: int
  mean: float
  deviation: float
  worst_tenth: float
  worst: ClientAccuracy


def count(
  labels: np.ndarray,
  predicted: np.ndarray,
  shares: Sequence[np.ndarray],
  unknown: int,
  names: Sequence[str],
) -> list[ClientAccuracy]:
  """Counts correct predictions of each client with labeled images.

  `labels` and `predicted` are int [images]; `unknown` is the label of images
  without a known class; `shares` are the indices of each client's images.
  """
  found = []
  for client, share in zip(names, shares, strict=True):
    share = share[labels[share] != unknown]
    if len(share):
      num_right = int(np.sum(predicted[share] == labels[share]))
      found.append(ClientAccuracy(client, num_right, len(share)))
  return found


def summarize(clients: Sequence[ClientAccuracy]) -> Spread:
  """Summarizes the accuracies of at least one client."""
  ordered = sorted(clients, key=lambda each: each.accuracy)
  accuracies = np.array([each.accuracy for each in ordered])
  num_worst = math.ceil(len(ordered) / _WORST_SHARE)
  return Spread(
    len(ordered),
    float(accuracies.mean()),
    float(accuracies.std()),
    float(accuracies[:num_worst].mean()),
    ordered[0],
  )
