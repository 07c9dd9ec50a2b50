# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Shows the partition of images among clients, and augmented images.

The program prints how many images clients have, and how much the class shares
of clients differ. Figures show the numbers of images by client and class
(partition.png), and some images with their augmentations (augmentations.png).
Nothing is trained.

  python -m launch.show_data --task=digits --partition=dirichlet \
    --num_clients=10

The program takes all flags of `launch.train semifl` that are about data.
"""

import dataclasses
import pathlib

from matplotlib import figure
import numpy as np
import tensorflow as tf

from tff_semifl import settings as settings_lib
from tff_semifl.cli import commands
from tff_semifl.cli import program
from tff_semifl.data import skewed_partition
from tff_semifl.data import sources
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import federated_data
from tff_semifl.experiment import image_task
from tff_semifl.plots import figures
from tff_semifl.randomness import random_seeds

_NUM_STRONG_VIEWS = 8


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShowData(settings_lib.Settings):
  """The settings of this program, in addition to data settings."""

  output_dir: str = settings_lib.setting('results', 'Folder for the figures.')


def main(own: ShowData, settings: experiment_settings.Data) -> None:
  """Prints the summary and draws the figures."""
  with settings_lib.blame('sites', settings.task.sites):
    if settings.task.sites:
      raise ValueError('their images are not known here; leave the flag out')
  task = settings.create_task()
  data = settings.fill_in(task).load(task)
  fig, skew = draw_partition(task, data, settings.title)
  drawn = {'partition': fig}
  images = (data.labeled if len(data.labeled.labels) else data.unlabeled)[0]
  if sources.kind_of(task.image_shape) is sources.IMAGES:
    drawn['augmentations'] = draw_augmentations(
      task, np.asarray(images[:8]), seed=settings.seed.seed
    )
  num_images = len(data.unlabeled.true_labels)
  sizes = [*map(len, data.shares)]
  print(
    f'{settings.title}, {len(sizes)} clients, seed {settings.seed.seed}',
    f'images with labels: {len(data.labeled.labels)}',
    f'images without: {num_images}, of which {num_images - sum(sizes)} with no'
    ' client',
    f'images per client: {min(sizes)} at least, {np.median(sizes):g} in the'
    f' median, {max(sizes)} at most',
    f'R, from 0 (equal class shares) to 1 (no common classes): {skew}',
    *(f'note: {note}' for note in data.notes),
    sep='\n',
  )
  with settings_lib.blame('output_dir', own.output_dir, OSError):
    for name, each in drawn.items():
      file = pathlib.Path(own.output_dir) / f'{name}.png'
      figures.save(each, [file])
      print(f'figure: {file}')


def draw_partition(
  task: image_task.ImageTask, data: federated_data.FederatedData, title: str
) -> tuple[figure.Figure, str]:
  """Plots the number of images by client and class.

  Also returns the non-IID level R (`measure_label_skew`) as text, or why R is
  unknown. Images of unknown class form an additional class.
  """
  labels, names = data.unlabeled.true_labels, [*task.class_names, 'unknown']
  is_unknown = labels == sources.UNKNOWN_LABEL
  labels = np.where(is_unknown, task.num_classes, labels)
  counts = skewed_partition.count_classes(labels, data.shares, len(names))
  skew = f'unknown, as the class of {np.sum(is_unknown)} images is'
  if np.all(is_unknown):
    counts, names = counts[:, -1:], names[-1:]
  elif not np.any(is_unknown):
    counts, names = counts[:, :-1], names[:-1]
    # A client without images has no class fractions.
    skew = (
      f'{skewed_partition.measure_label_skew(counts[counts.any(axis=1)]):.3f}'
    )
  return figures.create_partition(
    counts, names, f'{title}, {len(data.shares)} clients: R {skew}'
  ), skew


def draw_augmentations(
  task: image_task.ImageTask, images: np.ndarray, *, seed: int
) -> figure.Figure:
  """Draws a row per image: the original, and weak and strong augmentations."""
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


if __name__ == '__main__':
  program.run(
    lambda both: main(both.own, both.part),
    commands.beside(ShowData(), commands.create_data),
    elsewhere=commands.names_of_all_settings,
  )
