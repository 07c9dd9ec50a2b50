# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Writes a folder of images for --task=image_folder, as people have them.

Handwritten digits, enlarged, lie on parts of two photos, with noise: JPEG files
of many sizes. Each of six clients has 80, and the server six labeled ones of
each of five classes.

  python -m benchmarks.photo_folder --photos=photos
  python -m launch.demo --task=image_folder --image_dir=photos
"""

import pathlib

from absl import app
from absl import flags
import numpy as np
import PIL.Image
from sklearn import datasets

_PHOTOS = flags.DEFINE_string(
  'photos', 'photos', 'Folder to write, which must not exist.'
)
# The mirror image of none of them looks like another.
_CLASSES = (0, 1, 4, 6, 7)
_NUM_LABELED = 6
_NUM_TEST = 20
_NUM_CLIENTS, _CLIENT_SIZE = 6, 80
_LEAST_PIXELS, _MOST_PIXELS = 160, 400
_NOISE = 12


def write(root: pathlib.Path) -> None:
  """Writes the folder, the same at each call.

  Args:
    root: The folder, which must not exist.
  """
  generator = np.random.default_rng(0)
  photos = datasets.load_sample_images().images
  digits = datasets.load_digits()
  others = []
  for label in _CLASSES:
    indices = generator.permutation(np.flatnonzero(digits.target == label))
    ends = [_NUM_LABELED, _NUM_LABELED + _NUM_TEST]
    labeled, test, rest = np.split(indices, ends)
    others.extend(rest)
    for name, part in (('server', labeled), ('test', test)):
      for index in part:
        file = root / name / f'digit_{label}' / f'{index}.jpg'
        _write(file, digits.images[index], photos, generator)
  shares = generator.permutation(others)[: _NUM_CLIENTS * _CLIENT_SIZE]
  for client, share in enumerate(np.split(shares, _NUM_CLIENTS)):
    for index in share:
      file = root / 'clients' / f'site_{client}' / f'{index}.jpg'
      _write(file, digits.images[index], photos, generator)


def _write(
  file: pathlib.Path,
  digit: np.ndarray,
  photos: list[np.ndarray],
  generator: np.random.Generator,
) -> None:
  """Writes a digit on a part of a photo.

  Args:
    file: The file.
    digit: Levels from 0 to 16, [8, 8].
    photos: uint8 images to take the part of.
    generator: Source of random numbers.
  """
  height, width = generator.integers(_LEAST_PIXELS, _MOST_PIXELS, size=2)
  photo = photos[generator.integers(len(photos))]
  top = generator.integers(photo.shape[0] - height + 1)
  left = generator.integers(photo.shape[1] - width + 1)
  part = photo[top : top + height, left : left + width] / 2
  # In the middle, so that it is still there if the sides are cut off.
  side = min(height, width)
  shape = PIL.Image.fromarray((digit * 255 / 16).astype(np.uint8)).resize(
    (side, side), PIL.Image.Resampling.BICUBIC
  )
  rows = slice((height - side) // 2, (height - side) // 2 + side)
  columns = slice((width - side) // 2, (width - side) // 2 + side)
  part[rows, columns] += np.asarray(shape)[..., np.newaxis] / 2
  part += generator.normal(scale=_NOISE, size=part.shape)
  file.parent.mkdir(parents=True, exist_ok=True)
  PIL.Image.fromarray(part.clip(0, 255).astype(np.uint8)).save(file, quality=90)


def main(arguments: list[str]) -> None:
  """Writes the folder."""
  del arguments  # There are flags only.
  root = pathlib.Path(_PHOTOS.value)
  root.mkdir(parents=True)
  write(root)


if __name__ == '__main__':
  app.run(main)
