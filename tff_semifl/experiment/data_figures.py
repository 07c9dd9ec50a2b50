# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Figures of augmentation and of the partition, in an experiment's folder."""

from collections.abc import Callable, Sequence
import pathlib
from typing import BinaryIO, NamedTuple

from matplotlib import figure
import numpy as np
from PIL import Image
from PIL import ImageDraw
import tensorflow as tf

from tff_semifl.augment import remaining_contrast
from tff_semifl.data import example_kinds
from tff_semifl.data import sources
from tff_semifl.experiment import federated_data
from tff_semifl.experiment import image_task
from tff_semifl.files import durable_files
from tff_semifl.plots import figures
from tff_semifl.randomness import random_seeds

_NUM_IMAGES = 8
_NUM_STRONG_VIEWS = 8
# Small images are enlarged by an integer factor to at least this width in
# pixels.
_MIN_WIDTH = 64
_GAP = 6
# Height in pixels of a line of text.
_LINE_HEIGHT = 16


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
  variation): 0 for equal fractions, 1 for no class in common. A single client
  has the level 0. `counts` come from `count_classes`.
  """
  sizes = counts.sum(axis=1, keepdims=True)
  if not sizes.all():
    raise ValueError(f'client {np.argmin(sizes)} has no image')
  num_clients = len(counts)
  if num_clients == 1:
    return 0.0
  # Summed over all pairs, the i-th of n sorted numbers counts i times positive
  # and n - 1 - i times negative.
  fractions = np.sort(counts / sizes, axis=0)
  times = 2 * np.arange(num_clients) - (num_clients - 1)
  distances = times @ fractions
  return float(distances.sum() / (num_clients * (num_clients - 1)))


class PartitionSummary(NamedTuple):
  """The number of images of each class that each client has.

  `counts`, int64 [num_clients, num_classes], has a column for images of unknown
  class if there are any. `skew` is R of `measure_label_skew`, or the reason why
  R is unknown.
  """

  title: str
  counts: np.ndarray
  class_names: tuple[str, ...]
  skew: str

  def create_figure(self) -> figure.Figure:
    """Creates the figure."""
    return figures.create_partition(
      self.counts, self.class_names, f'{self.title}: R {self.skew}'
    )


def summarize_partition(
  task: image_task.ImageTask,
  data: federated_data.FederatedData,
  title: str,
) -> PartitionSummary:
  """Summarizes a partition."""
  labels = data.unlabeled.true_labels
  class_names = tuple(task.class_names)
  num_unknown = int(np.count_nonzero(labels < 0))
  if num_unknown == len(labels):
    labels, class_names = np.zeros_like(labels), ('unknown',)
  elif num_unknown:
    labels = np.where(labels < 0, task.num_classes, labels)
    class_names = (*class_names, 'unknown')
  counts = count_classes(labels, data.shares, len(class_names))
  if num_unknown:
    skew = f'unknown, as the class of {num_unknown} images is'
  else:
    # A client without images has no class fractions.
    mixes = counts[counts.any(axis=1)]
    skew = f'{measure_label_skew(mixes):.3f}'
  return PartitionSummary(
    title=f'{title}, {len(data.shares)} clients',
    counts=counts,
    class_names=class_names,
    skew=skew,
  )


def create_augmentations(
  task: image_task.ImageTask,
  images: np.ndarray,
  *,
  seed: int,
  num_images: int = _NUM_IMAGES,
) -> tuple[Image.Image, Sequence[str]]:
  """A figure of augmented images, and notes on the contrast that is left.

  The RGB figure has a row for each of the first `num_images`; columns are the
  original, a weak view and eight strong views. Notes, measured on all
  images, stand below. `images` are uint8 [number, height, width, channels].
  """
  notes = remaining_contrast.measure(
    images, task.strong_augmentation, seed=seed
  ).describe()
  purpose = random_seeds.Purpose
  first = tf.constant(images[:num_images])
  view = random_seeds.stateless_seed(seed, purpose.WEAK_VIEW)
  columns = [('original', first), ('weak', task.weak_augmentation(first, view))]
  for index in range(_NUM_STRONG_VIEWS):
    view = random_seeds.stateless_seed(seed, purpose.STRONG_VIEW, index)
    columns.append(
      (f'strong {index + 1}', task.strong_augmentation(first, view))
    )
  drawn = _draw([(name, np.asarray(each)) for name, each in columns], notes)
  return drawn, notes


def _draw(
  columns: Sequence[tuple[str, np.ndarray]], notes: Sequence[str]
) -> Image.Image:
  """Draws columns of images with their names above, and notes below."""
  num_rows, height, width, _ = columns[0][1].shape
  scale = -(-_MIN_WIDTH // width)
  row_height, column_width = height * scale + _GAP, width * scale + _GAP
  notes_top = _LINE_HEIGHT + num_rows * row_height + _GAP
  fig = Image.new(
    'RGB',
    (
      len(columns) * column_width + _GAP,
      notes_top + len(notes) * _LINE_HEIGHT,
    ),
    'white',
  )
  drawing = ImageDraw.Draw(fig)
  for column, (name, images) in enumerate(columns):
    left = _GAP + column * column_width
    drawing.text((left, _GAP // 2), name, fill='black')
    for row, image in enumerate(images):
      color = np.broadcast_to(image, (height, width, 3))
      enlarged = color.repeat(scale, axis=0).repeat(scale, axis=1)
      fig.paste(
        Image.fromarray(enlarged),
        (left, _GAP + _LINE_HEIGHT + row * row_height),
      )
  for line, note in enumerate(notes):
    drawing.text((_GAP, notes_top + line * _LINE_HEIGHT), note, fill='black')
  return fig


def draw(
  folder: pathlib.Path,
  *,
  task: image_task.ImageTask,
  data: federated_data.FederatedData,
  title: str,
  images: np.ndarray,
  seed: int,
) -> None:
  """Draws the figures that the folder lacks; creates the folder if needed.

  `images` are the server's, uint8 [number, height, width, channels]. Feature
  vectors are not drawn, nor is a partition if all classes are unknown.
  """

  def write_augmentations(file: BinaryIO) -> None:
    drawn, _ = create_augmentations(task, images, seed=seed)
    drawn.save(file, format='PNG')

  def write_partition(file: BinaryIO) -> None:
    summarize_partition(task, data, title).create_figure().savefig(
      file, format='png'
    )

  if example_kinds.kind_of(task.image_shape) is example_kinds.IMAGES:
    _draw_once(folder / 'augmentations.png', write_augmentations)
  if np.any(data.unlabeled.true_labels != sources.UNKNOWN_LABEL):
    _draw_once(folder / 'partition.png', write_partition)


def _draw_once(path: pathlib.Path, write: Callable[[BinaryIO], None]) -> None:
  if path.exists():
    return
  with durable_files.naming(path):
    path.parent.mkdir(exist_ok=True)
    with durable_files.replacing(path) as file:
      write(file)
