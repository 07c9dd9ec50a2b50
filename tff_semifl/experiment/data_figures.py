# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Figures of the partition and of augmentation."""

from collections.abc import Sequence

from matplotlib import figure
import numpy as np
import tensorflow as tf

from tff_semifl.data import sources
from tff_semifl.experiment import federated_data
from tff_semifl.experiment import image_task
from tff_semifl.plots import figures
from tff_semifl.randomness import random_seeds

_NUM_STRONG_VIEWS = 8
# The number of images in which blank results are counted.
_MAX_IMAGES = 64
_MAX_PIXELS = 2**22
# The contrast, in gray levels, below which an image looks like a single color.
_BLANK_CONTRAST = 2.55
# An augmented image is blank below this fraction of its original contrast.
_BLANK_RATIO = 0.05


def count_classes(
  labels: np.ndarray, shares: Sequence[np.ndarray], num_classes: int
) -> np.ndarray:
  """Counts each client's images of each class: int64 [clients, classes]."""
  return np.stack(
    [np.bincount(labels[indices], minlength=num_classes) for indices in shares]
  )


def measure_label_skew(counts: np.ndarray) -> float:
  """The non-IID level R in 0..1: the mean distance of two clients' labels.

  The distance is half the sum of absolute differences of class fractions (total
  variation). A single client has level 0. `counts` come from `count_classes`,
  for clients that all have images.
  """
  n = len(counts)
  # In the sum over all pairs, the i-th of n sorted numbers counts i times
  # positively and n - 1 - i times negatively.
  fractions = np.sort(counts / counts.sum(axis=1, keepdims=True), axis=0)
  times = 2 * np.arange(n) - (n - 1)
  return float((times @ fractions).sum() / max(n * (n - 1), 1))


def draw_partition(
  task: image_task.ImageTask, data: federated_data.FederatedData, title: str
) -> tuple[figure.Figure, str]:
  """Plots the number of images by client and class; also returns R as text.

  Images of unknown class form an additional class. If R is unknown, the text
  says why.
  """
  labels, names = data.unlabeled.true_labels, [*task.class_names, 'unknown']
  is_unknown = labels == sources.UNKNOWN_LABEL
  labels = np.where(is_unknown, task.num_classes, labels)
  counts = count_classes(labels, data.shares, len(names))
  skew = f'unknown, as the class of {np.sum(is_unknown)} images is'
  if np.all(is_unknown):
    counts, names = counts[:, -1:], names[-1:]
  elif not np.any(is_unknown):
    counts, names = counts[:, :-1], names[:-1]
    # A client without images has no class fractions.
    skew = f'{measure_label_skew(counts[counts.any(axis=1)]):.3f}'
  return figures.create_partition(
    counts, names, f'{title}, {len(data.shares)} clients: R {skew}'
  ), skew


def draw_augmentations(
  task: image_task.ImageTask, images: np.ndarray, *, seed: int
) -> figure.Figure:
  """Draws original, weak and strong augmentations, a row per image."""
  first = tf.constant(images)
  purpose = random_seeds.Purpose
  view = random_seeds.stateless_seed(seed, purpose.WEAK_VIEW)
  columns = {'original': first, 'weak': task.weak_augmentation(first, view)}
  for index in range(_NUM_STRONG_VIEWS):
    view = random_seeds.stateless_seed(seed, purpose.STRONG_VIEW, index)
    columns[f'strong {index + 1}'] = task.strong_augmentation(first, view)
  # In inches; a layout engine would take seconds.
  heading = 0.3
  height = heading + len(first)
  fig = figure.Figure((len(columns), height))
  grid = fig.subplots(len(first), len(columns), squeeze=False)
  fig.subplots_adjust(left=0, right=1, bottom=0, top=1 - heading / height)
  for axes, (name, views) in zip(grid.T, columns.items(), strict=True):
    axes[0].set_title(name, fontsize='small')
    for axis, image in zip(axes, np.asarray(views), strict=True):
      axis.imshow(np.broadcast_to(image, (*image.shape[:2], 3)))
      axis.set_axis_off()
  return fig
