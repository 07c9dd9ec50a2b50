# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Digits with a long tail: class 0 has fifty times as many images as class 9.

The server's labels and the images of ten clients have a long tail. The test
images are the balanced test set of digits. As in Cao et al., class sizes fall
by the same factor from class to class. To train:

  python -m launch.train semifl --task=benchmarks.long_tailed_digits:TASK

References:
  Cao, Wei, Gaidon, Arechiga, Ma. Learning imbalanced datasets with
  label-distribution-aware margin loss. NeurIPS 2019.
"""

import dataclasses

import numpy as np

from tasks import digits
from tff_semifl import settings
from tff_semifl.data import sources
from tff_semifl.experiment import image_task

_NUM_CLIENTS = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class LongTailedDigits(image_task.Task):
  """Digits whose class sizes decrease, both for images and for labels."""

  gives_shares = True

  most_labels: int = settings.setting(
    50, "The server's labels of class 0.", settings.AT_LEAST_1
  )
  most_unlabeled: int = settings.setting(
    90, 'Images of class 0 at clients.', settings.AT_LEAST_1
  )
  imbalance: float = settings.setting(
    50.0,
    'How many times as many there are of class 0 as of class 9.',
    settings.AT_LEAST_1,
  )
  split_seed: int = settings.setting(
    0, 'Seed of who has which images.', settings.AT_LEAST_0
  )

  def create(self) -> image_task.ImageTask:
    """Creates the task."""
    task = digits.Digits().create()
    train, test, *_ = task.load()
    generator = np.random.default_rng(self.split_seed)
    labeled, unlabeled = [], []
    for label in range(task.num_classes):
      images = generator.permutation(np.flatnonzero(train.labels == label))
      share = self.imbalance ** (-label / (task.num_classes - 1))
      num_labels = round(self.most_labels * share)
      num_unlabeled = round(self.most_unlabeled * share)
      labeled.append(images[:num_labels])
      unlabeled.append(images[num_labels : num_labels + num_unlabeled])
    pool = train.select(generator.permutation(np.concatenate(unlabeled)))
    data = sources.TaskData(
      train=train.select(np.concatenate(labeled)),
      test=test,
      unlabeled=pool.images,
      shares=np.array_split(np.arange(len(pool.labels)), _NUM_CLIENTS),
      unlabeled_labels=pool.labels,
    )
    return dataclasses.replace(task, load=lambda: data)


TASK = LongTailedDigits()
