# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Writes a picture of what augmentations do to the images of a task.

  python -m launch.show_augmentations --task=digits --strong_augmentation=semifl

Of the flags of `launch.train_semifl` it heeds --task, --data_dir and --seed,
and those of a user's own images.
"""

from collections.abc import Sequence
import pathlib

from absl import flags
import numpy as np
from PIL import Image
from PIL import ImageDraw
import tensorflow as tf

from launch import augmentation_flags
from launch import chosen_task
from launch import data_flags
from launch import program
from tff_semifl import random_seeds
from tff_semifl.augment import augmentation
from tff_semifl.data import sources

_NUM_IMAGES = flags.DEFINE_integer(
  'num_images', 8, 'Rows: the first images of the task.', lower_bound=1
)
_AUGMENTATIONS_FILE = flags.DEFINE_string(
  'augmentations_file',
  'augmentations.png',
  'Where to write the picture, a PNG file.',
)

_NUM_STRONG_VIEWS = 8
# Small images are enlarged, by a whole number, to at least so many pixels.
_MIN_WIDTH = 64
_GAP = 6
_HEADING_HEIGHT = 16


def main() -> None:
  """Runs the program, after flags were parsed."""
  task = augmentation_flags.with_chosen_augmentation(chosen_task.create_task())
  with program.blame(data_flags.DATA_DIR, sources.DataNotFoundError):
    images = task.load(data_flags.DATA_DIR.value).train.images
  with program.blame(_NUM_IMAGES, ValueError):
    if _NUM_IMAGES.value > len(images):
      raise ValueError(f'there are {len(images)} images')
  columns = _create_views(
    tf.constant(images[: _NUM_IMAGES.value]),
    weak=task.weak_augmentation,
    strong=task.strong_augmentation,
    seed=data_flags.SEED.value,
  )
  path = pathlib.Path(_AUGMENTATIONS_FILE.value)
  with program.blame(_AUGMENTATIONS_FILE, OSError):
    path.parent.mkdir(parents=True, exist_ok=True)
    _draw(columns).save(path, format='PNG')
  print(f'picture: {path}')


def _create_views(
  images: tf.Tensor,
  *,
  weak: augmentation.Augmentation,
  strong: augmentation.Augmentation,
  seed: int,
) -> list[tuple[str, np.ndarray]]:
  """Returns the columns of the picture, by what they show."""
  purpose = random_seeds.Purpose
  weak_views = weak(
    images, random_seeds.stateless_seed(seed, purpose.WEAK_VIEW)
  )
  strong_views = [
    strong(
      images, random_seeds.stateless_seed(seed, purpose.STRONG_VIEW, index)
    ).numpy()
    for index in range(_NUM_STRONG_VIEWS)
  ]
  return [
    ('original', images.numpy()),
    ('weak', weak_views.numpy()),
    *((f'strong {k + 1}', views) for k, views in enumerate(strong_views)),
  ]


def _draw(columns: Sequence[tuple[str, np.ndarray]]) -> Image.Image:
  """Draws images in columns, each with its name above."""
  num_rows, height, width, _ = columns[0][1].shape
  scale = -(-_MIN_WIDTH // width)
  row_height, column_width = height * scale + _GAP, width * scale + _GAP
  picture = Image.new(
    'RGB',
    (
      len(columns) * column_width + _GAP,
      _HEADING_HEIGHT + num_rows * row_height + _GAP,
    ),
    'white',
  )
  drawing = ImageDraw.Draw(picture)
  for column, (name, images) in enumerate(columns):
    left = _GAP + column * column_width
    drawing.text((left, _GAP // 2), name, fill='black')
    for row, image in enumerate(images):
      colour = np.broadcast_to(image, (height, width, 3))
      enlarged = colour.repeat(scale, axis=0).repeat(scale, axis=1)
      picture.paste(
        Image.fromarray(enlarged),
        (left, _GAP + _HEADING_HEIGHT + row * row_height),
      )
  return picture


if __name__ == '__main__':
  program.run(main)
