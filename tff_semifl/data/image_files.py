# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads image files of users: decoded, upright, of one size, or refused."""

from collections.abc import Callable
import enum
import os
import pathlib
import re

import numpy as np
import PIL.Image
import PIL.ImageOps

from tff_semifl.data import image_depth

# What cameras, browsers, scanners and data sets write; the rarest are last. The
# bytes decide, not the name. Pillow knows many more: some have decoders that
# hardly anybody checks, and PostScript it would have Ghostscript run.
_FORMATS = ('JPEG', 'PNG', 'GIF', 'BMP', 'PPM', 'WEBP', 'TIFF')
# By number of channels.
_TARGET_MODES = {1: 'L', 3: 'RGB'}


class ImageFileError(Exception):
  """Raised if a file cannot be used. The message completes "<file> ..."."""


class OddSizeError(ImageFileError):
  """Raised if nothing but the size of a file's image is wrong."""


class OnOddSize(enum.Enum):
  """The treatment of an image that has another size than asked for.

  Attributes:
    REFUSE: Nothing; it is an error.
    RESIZE: Scale it until it covers the size and cut off what is beyond, the
      same on both sides. Proportions stay.
  """

  REFUSE = 'refuse'
  RESIZE = 'resize'


def read_image(
  file: pathlib.Path,
  shape: tuple[int, int, int],
  on_odd_size: OnOddSize,
  on_resize: Callable[[], None] = lambda: None,
) -> np.ndarray:
  """Reads an image: JPEG, PNG, GIF, BMP, PPM, WebP or TIFF.

  Photos are turned upright as their camera says. Of several frames the first
  is taken; transparency is dropped. Levels of 12 and 16 bits are scaled to 8.
  Nothing is decoded of an image with more than `PIL.Image.MAX_IMAGE_PIXELS`.

  Args:
    file: The file.
    shape: Height, width and channels: 3 for colors, 1 for gray.
    on_odd_size: The treatment of an image of another height or width.
    on_resize: Called if the image is resized.

  Returns:
    uint8 of that shape.

  Raises:
    ImageFileError: If it cannot be read, has levels without a clear scale or
      too many pixels.
    OddSizeError: If it has another size and `on_odd_size` is `REFUSE`.
  """
  height, width, num_channels = shape
  image = _open(file)
  is_odd = image.size != (width, height)
  if is_odd and on_odd_size is OnOddSize.REFUSE:
    raise OddSizeError(f'is {image.height}x{image.width}, not {height}x{width}')
  image = _convert(image, num_channels)
  if is_odd:
    on_resize()
    image = PIL.ImageOps.fit(
      image, (width, height), PIL.Image.Resampling.BILINEAR
    )
  return np.asarray(image).reshape(shape)


def read_image_of_any_size(file: pathlib.Path, num_channels: int) -> np.ndarray:
  """Reads an image as `read_image` does, in the size that it has.

  Args:
    file: The file.
    num_channels: 3 for colors, 1 for gray.

  Returns:
    uint8 [height, width, num_channels].

  Raises:
    ImageFileError: If it cannot be read, has levels without a clear scale or
      too many pixels.
  """
  image = _convert(_open(file), num_channels)
  return np.asarray(image).reshape(image.height, image.width, num_channels)


def read_size(file: pathlib.Path) -> tuple[int, int]:
  """Returns height and width of an image.

  Args:
    file: The file.

  Raises:
    ImageFileError: If it cannot be read, has levels without a clear scale or
      too many pixels.
  """
  width, height = _open(file).size
  return height, width


def _open(file: pathlib.Path) -> PIL.Image.Image:
  """Returns an image, upright.

  Raises:
    ImageFileError: If it cannot be read, has levels without a clear scale or
      too many pixels.
  """
  # Opening a pipe would block until another process writes to it.
  if not os.path.isfile(file):
    raise ImageFileError('is neither a file nor a link to one')
  # A small file may claim to be so large that decoding it runs out of memory.
  # The limit is Pillow's, for its users to set; None is no limit.
  limit = PIL.Image.MAX_IMAGE_PIXELS
  try:
    with (
      open(file, 'rb') as stream,
      PIL.Image.open(stream, formats=_FORMATS) as image,
    ):
      num_pixels = image.width * image.height
      # Up to twice the limit Pillow only warns.
      if limit is not None and num_pixels > limit:
        raise PIL.Image.DecompressionBombError(f'{num_pixels} pixels')
      depth = image_depth.read_depth(image)
      image.load()
      upright = PIL.ImageOps.exif_transpose(image)
  except PIL.UnidentifiedImageError as error:
    raise ImageFileError(
      'is no JPEG, PNG, GIF, BMP, PPM, WebP or TIFF image'
    ) from error
  except PIL.Image.DecompressionBombError as error:
    num_pixels = int(re.search(r'\d+', str(error))[0])
    raise ImageFileError(
      f'has {num_pixels:,} pixels, more than the {limit:,} that are decoded'
    ) from error
  # Pillow's decoders fail in many ways on bytes that are not theirs.
  except Exception as error:
    raise ImageFileError(f'cannot be read ({error})') from error
  try:
    return image_depth.scale_to_8_bits(upright, depth)
  except image_depth.DepthError as error:
    raise ImageFileError(str(error)) from error


def _convert(image: PIL.Image.Image, num_channels: int) -> PIL.Image.Image:
  """Returns an image with that many channels."""
  if num_channels not in _TARGET_MODES:
    raise ValueError(f'Images have 1 or 3 channels, not {num_channels}.')
  try:
    return image.convert(_TARGET_MODES[num_channels])
  except ValueError as error:
    raise ImageFileError(f'cannot be read ({error})') from error
