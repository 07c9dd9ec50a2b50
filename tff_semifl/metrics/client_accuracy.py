# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Accuracies of clients, so that an average does not hide one of them."""

from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np

_WORST_SHARE = 10


class ClientAccuracy(NamedTuple):
  """The accuracy of a model on the images of a client that have labels.

  Attributes:
    client: The client's number.
    num_right: Images whose prediction is right.
    num_images: All images with a label, at least 1.
  """

  client: int
  num_right: int
  num_images: int

  @property
  def accuracy(self) -> float:
    """The share of right predictions."""
    return self.num_right / self.num_images


class Spread(NamedTuple):
  """The accuracies of clients in a few numbers; each client counts once.

  Attributes:
    num_clients: Clients with labels.
    mean: The mean accuracy.
    deviation: The standard deviation over these clients.
    worst_tenth: The mean accuracy of the tenth of clients, rounded up, that has
      the lowest ones.
    worst: The client with the lowest accuracy, the first of equal ones.
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
) -> list[ClientAccuracy]:
  """Counts what a model is right on, client by client.

  Args:
    labels: int [images], `unknown` where a label is.
    predicted: int [images].
    shares: For each client the indices of its images.
    unknown: What stands for no label.

  Returns:
    Those of clients with a label, in order.
  """
  found = []
  for client, share in enumerate(shares):
    share = share[labels[share] != unknown]
    if len(share):
      num_right = int(np.sum(predicted[share] == labels[share]))
      found.append(ClientAccuracy(client, num_right, len(share)))
  return found


def summarize(clients: Sequence[ClientAccuracy]) -> Spread:
  """Returns mean, deviation and the worst tenth.

  Args:
    clients: At least one.
  """
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
