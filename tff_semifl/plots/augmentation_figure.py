# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A figure of weakly and strongly augmented images."""

from collections.abc import Sequence

import numpy as np
from PIL import Image
from PIL import ImageDraw
import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.randomness import random_seeds

_NUM_STRONG_VIEWS = 8
# Small images are enlarged by an integer factor to at least this width in
# pixels.
_MIN_WIDTH = 64
_GAP = 6
# Height in pixels of a line of text.
_LINE_HEIGHT = 16


def create_image(
  images: np.ndarray,
  *,
  weak: augmentation.Augmentation,
  strong: augmentation.Augmentation,
  seed: int,
  notes: Sequence[str] = (),
) -> Image.Image:
  """An RGB figure: a row per image; columns original, weak, and 8 times strong.

  `images` are uint8 [number, height, width, channels]; `notes` stand below.
  """
  purpose = random_seeds.Purpose
  images = tf.constant(images)
  columns = [
    ('original', images),
    (
      'weak',
      weak(images, random_seeds.stateless_seed(seed, purpose.WEAK_VIEW)),
    ),
  ]
  for index in range(_NUM_STRONG_VIEWS):
    view = random_seeds.stateless_seed(seed, purpose.STRONG_VIEW, index)
    columns.append((f'strong {index + 1}', strong(images, view)))
  return _draw([(name, np.asarray(each)) for name, each in columns], notes)


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
