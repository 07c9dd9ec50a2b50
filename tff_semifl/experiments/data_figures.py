# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Figures of what an experiment trains on, in its folder.

Those of `launch.show_augmentations`, for the server's first images, and of
`launch.show_partition`.
"""

from collections.abc import Callable
import pathlib
from typing import BinaryIO

import numpy as np

from tff_semifl.augment import remaining_contrast
from tff_semifl.data import example_kinds
from tff_semifl.data import sources
from tff_semifl.experiments import federated_data
from tff_semifl.experiments import image_task
from tff_semifl.experiments import partition_summary
from tff_semifl.files import durable_files
from tff_semifl.plots import augmentation_figure

_NUM_IMAGES = 8


def draw(
  folder: pathlib.Path,
  *,
  task: image_task.ImageTask,
  data: federated_data.FederatedData,
  title: str,
  images: np.ndarray,
  seed: int,
) -> None:
  """Draws the figures that the folder does not have yet.

  Args:
    folder: The folder; created if need be.
    data: The split images; no figure if all unlabeled images are of unknown
      class.
    images: The server's, uint8 [number, height, width, channels]. Feature
      vectors are not drawn.
    seed: The run's seed.
  """

  def write_augmentations(file: BinaryIO) -> None:
    augmentation_figure.create_image(
      images[:_NUM_IMAGES],
      weak=task.weak_augmentation,
      strong=task.strong_augmentation,
      seed=seed,
      notes=remaining_contrast.measure(
        images, task.strong_augmentation, seed=seed
      ).describe(),
    ).save(file, format='PNG')

  def write_partition(file: BinaryIO) -> None:
    partition_summary.summarize(task, data, title).create_figure().savefig(
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
