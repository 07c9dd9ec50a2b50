# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A task's images, split among server and clients."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tff_semifl.data import sources
from tff_semifl.experiments import image_task
from tff_semifl.systems import system as system_lib


class FederatedData(NamedTuple):
  """The images of the server and of each client.

  Attributes:
    labeled: The server's images.
    unlabeled: The images of all clients.
    shares: For each client the int64 indices of its images in `unlabeled`.
    test: Images to evaluate on: test or validation images.
    equal_images: A line on each kind of equal images.
    partition_notes: Lines on how the partition differs from what was asked for.
    given_names: A name for each client; None for numbers.
  """

  labeled: sources.LabeledImages
  unlabeled: sources.ImagePool
  shares: Sequence[np.ndarray]
  test: sources.LabeledImages
  equal_images: tuple[str, ...] = ()
  partition_notes: tuple[str, ...] = ()
  given_names: Sequence[str] | None = None

  @property
  def client_names(self) -> Sequence[str]:
    """A name for each client: the user's, or else a number."""
    return self.given_names or [*map(str, range(len(self.shares)))]

  @property
  def notes(self) -> tuple[str, ...]:
    """All remarks on the data."""
    return self.partition_notes + self.equal_images

  @property
  def measures_clients(self) -> bool:
    """Whether an image of a client has a label, if only to measure by."""
    labels = self.unlabeled.true_labels
    return any(
      bool(np.any(labels[share] != sources.UNKNOWN_LABEL))
      for share in self.shares
    )

  def at_server(self, labels: system_lib.Labels) -> sources.LabeledImages:
    """The images that the server trains on.

    Args:
      labels: Who has labels. If the server has unlabeled images too, these come
        after the labeled ones, with `sources.UNKNOWN_LABEL`.
    """
    if labels is not system_lib.Labels.AT_SERVER_WITH_POOL:
      return self.labeled
    pool = pool_of_unknown_classes(self.unlabeled.images)
    return sources.LabeledImages(
      *map(np.concatenate, zip(self.labeled, pool, strict=True))
    )


def pool_of_unknown_classes(images: sources.Images) -> sources.ImagePool:
  """Unlabeled images, all of unknown class."""
  labels = np.full(len(images), sources.UNKNOWN_LABEL, np.int32)
  return sources.ImagePool(images, labels)


def pool_of_task(data: image_task.TaskData) -> sources.ImagePool:
  """The images of clients, with labels that measure, if any."""
  if data.unlabeled_labels is None:
    return pool_of_unknown_classes(data.unlabeled)
  return sources.ImagePool(data.unlabeled, data.unlabeled_labels)
