# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Digits on which assumptions of client priors fail.

Ten clients have two classes each, as in docs/results/digits_50_classes2, and
the server has 50 labels. In the task `CAMERAS`, the contrast of images differs
from client to client. In the task `UNEVEN_LABELS`, the server has 15
labels of class 0, down to one label of class 9. To train:

  python -m launch.train client_prior_semifl \
    --task=benchmarks.shifted_digits:CAMERAS
"""

import dataclasses

import numpy as np

from tasks import digits
from tff_semifl import settings
from tff_semifl.data import partition
from tff_semifl.data import skewed_partition
from tff_semifl.data import sources
from tff_semifl.experiment import image_task

_NUM_CLIENTS, _CLASSES_PER_CLIENT = 10, 2
_MIDDLE_LEVEL = 127.5


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShiftedDigits(image_task.Task):
  """Digits with a fixed partition into server and clients."""

  gives_shares = True

  labels_per_class: tuple[str, ...] = settings.setting(
    ('5',) * 10, "Numbers of the server's labels, of classes 0 to 9."
  )
  contrast_loss: float = settings.setting(
    0.0,
    "Fraction of contrast that the last client's images lack. The first"
    " client's lack nothing, the others' something in between.",
    settings.FRACTION,
  )
  split_seed: int = settings.setting(
    0, 'Seed of the partition.', settings.AT_LEAST_0
  )

  def create(self) -> image_task.ImageTask:
    """Creates the task."""
    task = digits.Digits().create()
    train, test, *_ = task.load()
    numbers = [int(number) for number in self.labels_per_class]
    labeled, unlabeled = partition.split_labels(
      train.labels,
      # The server gets some of these images.
      max(numbers) * task.num_classes,
      task.num_classes,
      self.split_seed,
    )
    kept = np.concatenate(
      [
        labeled[train.labels[labeled] == label][:number]
        for label, number in enumerate(numbers)
      ]
    )
    others = np.concatenate([unlabeled, np.setdiff1d(labeled, kept)])
    shares = skewed_partition.partition_classes(
      train.labels[others],
      task.num_classes,
      _CLASSES_PER_CLIENT,
      _NUM_CLIENTS,
      self.split_seed,
    )
    images = train.images[others]
    for client, share in enumerate(shares):
      loss = self.contrast_loss * client / (_NUM_CLIENTS - 1)
      images[share] = np.rint(images[share] * (1 - loss) + _MIDDLE_LEVEL * loss)
    data = sources.TaskData(
      train=train.select(kept), test=test, unlabeled=images, shares=shares
    )
    return dataclasses.replace(task, load=lambda: data)


ALIKE = ShiftedDigits()
CAMERAS = ShiftedDigits(contrast_loss=0.8)
UNEVEN_LABELS = ShiftedDigits(
  labels_per_class=('15', '10', '7', '5', '4', '3', '2', '2', '1', '1')
)
