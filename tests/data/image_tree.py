# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Small folders of images in the layout of the task `image_folder`."""

from collections.abc import Mapping
import pathlib

import PIL.Image

# Two classes, one grayscale file, a client without images, and both formats.
# The server's gray levels have mean 102, which is 0.4 of 255, and deviation 51,
# which is 0.2.
LEVELS = {
  'server/cat/a.png': 51,
  'server/cat/b.jpg': 51,
  'server/dog/a.png': 153,
  'server/dog/b.png': 153,
  'clients/east/a.jpg': 20,
  'clients/east/b.png': 30,
  'clients/north/a.png': 40,
  'test/cat/a.png': 60,
  'test/dog/a.png': 140,
  'test/dog/b.png': 150,
}
GRAYSCALE_FILE = 'clients/north/a.png'
EMPTY_CLIENT = 'clients/south'


def write_image(
  file: pathlib.Path,
  level: int,
  *,
  size: tuple[int, int] = (16, 16),
  mode: str = 'RGB',
) -> None:
  """Writes an image of one gray level, and creates its folders."""
  file.parent.mkdir(parents=True, exist_ok=True)
  image = PIL.Image.new('L', (size[1], size[0]), level)
  image.convert(mode).save(file)


def write_tree(
  root: pathlib.Path, levels: Mapping[str, int] = LEVELS
) -> pathlib.Path:
  """Writes images of 16x16 pixels, and a client without images."""
  for name, level in levels.items():
    mode = 'L' if name == GRAYSCALE_FILE else 'RGB'
    write_image(root / name, level, mode=mode)
  (root / EMPTY_CLIENT).mkdir(parents=True)
  return root
