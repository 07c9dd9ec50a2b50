# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads image files of users: decoded, upright, of one size, or refused."""

from collections.abc import Iterator
import contextlib
import enum
import os
import pathlib
import re
from typing import NamedTuple, TypeAlias

import numpy as np
import PIL.ExifTags
import PIL.Image
import PIL.ImageColor
import PIL.ImageOps

from tff_semifl.data import image_depth

# What cameras, browsers, scanners and data sets write; the rarest are last. The
# bytes decide, not the name. Pillow knows many more: some have decoders that
# hardly anybody checks, and PostScript it would have Ghostscript run.
_FORMATS = ('JPEG', 'PNG', 'GIF', 'BMP', 'PPM', 'WEBP', 'TIFF')
# By number of channels.
_TARGET_MODES = {1: 'L', 3: 'RGB'}
# EXIF's orientations whose height is stored as width.
_LYING = range(5, 9)

# Red, green and blue in 0..255.
Color: TypeAlias = tuple[int, int, int]
WHITE: Color = (255, 255, 255)


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


class DecodedImage(NamedTuple):
  """The image of a file.

  Attributes:
    pixels: uint8 [height, width, channels].
    is_resized: Whether it has another size in the file.
    is_transparent: Whether a pixel in the file is, in part or in full.
  """

  pixels: np.ndarray
  is_resized: bool
  is_transparent: bool


def parse_color(text: str) -> Color | None:
  """Returns the color that a text names as in CSS, or None."""
  try:
    color = PIL.ImageColor.getrgb(text)
  except ValueError:
    return None
  return color if len(color) == 3 else None


def name_color(color: Color) -> str:
  """Returns the name of a color, as `parse_color` takes it."""
  return 'white' if color == WHITE else '#{:02x}{:02x}{:02x}'.format(*color)


def read_image(
  file: pathlib.Path,
  shape: tuple[int, int, int],
  on_odd_size: OnOddSize,
  background: Color = WHITE,
) -> DecodedImage:
  """Reads an image: JPEG, PNG, GIF, BMP, PPM, WebP or TIFF.

  Photos are turned upright as their camera says. Of several frames the first
  is taken. Levels of 12 and 16 bits are scaled to 8. Nothing is decoded of an
  image with more than `PIL.Image.MAX_IMAGE_PIXELS`.

  Args:
    file: The file.
    shape: Height, width and channels: 3 for colors, 1 for gray.
    on_odd_size: The treatment of an image of another height or width.
    background: The color behind what is transparent.

  Returns:
    The image, of that shape.

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
  image, is_transparent = _convert(image, num_channels, background)
  if is_odd:
    image = PIL.ImageOps.fit(
      image, (width, height), PIL.Image.Resampling.BILINEAR
    )
  return DecodedImage(np.asarray(image).reshape(shape), is_odd, is_transparent)


def read_image_of_any_size(
  file: pathlib.Path, num_channels: int, background: Color = WHITE
) -> DecodedImage:
  """Reads an image as `read_image` does, in the size that it has.

  Args:
    file: The file.
    num_channels: 3 for colors, 1 for gray.
    background: The color behind what is transparent.

  Returns:
    The image, with that many channels.

  Raises:
    ImageFileError: If it cannot be read, has levels without a clear scale or
      too many pixels.
  """
  image, is_transparent = _convert(_open(file), num_channels, background)
  pixels = np.asarray(image).reshape(image.height, image.width, num_channels)
  return DecodedImage(pixels, is_resized=False, is_transparent=is_transparent)


def read_size(file: pathlib.Path) -> tuple[int, int]:
  """Returns height and width of an image, upright; most are not decoded for it.

  Args:
    file: The file.

  Raises:
    ImageFileError: If it is no image, or has too many pixels.
  """
  with _opening(file) as image:
    width, height = image.size
    orientation = image.getexif().get(PIL.ExifTags.Base.Orientation)
    # Of TIFF images Pillow has the upright size.
    if orientation in _LYING and image.format != 'TIFF':
      width, height = height, width
  return height, width


def _open(file: pathlib.Path) -> PIL.Image.Image:
  """Returns an image, upright.

  Raises:
    ImageFileError: If it cannot be read, has levels without a clear scale or
      too many pixels.
  """
  with _opening(file) as image:
    depth = image_depth.read_depth(image)
    image.load()
    upright = PIL.ImageOps.exif_transpose(image)
  if depth.may_be_less and 'transparency' in upright.info:
    # Of the 16 bits of that color Pillow has the upper 8 in its pixels.
    raise ImageFileError(
      'has 16 bits a channel and a color that is transparent; convert it to 8'
      ' bits'
    )
  try:
    return image_depth.scale_to_8_bits(upright, depth)
  except image_depth.DepthError as error:
    raise ImageFileError(str(error)) from error


@contextlib.contextmanager
def _opening(file: pathlib.Path) -> Iterator[PIL.Image.Image]:
  """Yields an image that is not loaded, and names what goes wrong with it.

  Raises:
    ImageFileError: If it cannot be read or has too many pixels.
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
      yield image
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


def _convert(
  image: PIL.Image.Image, num_channels: int, background: Color
) -> tuple[PIL.Image.Image, bool]:
  """Returns an opaque image with that many channels, and whether it was not."""
  if num_channels not in _TARGET_MODES:
    raise ValueError(f'Images have 1 or 3 channels, not {num_channels}.')
  try:
    opacity = None
    if image.has_transparency_data:
      image = image.convert('RGBA')
      opacity = image.getchannel('A')
    is_transparent = opacity is not None and opacity.getextrema()[0] < 255
    if is_transparent:
      # In integers rounded to the nearest, as `decoding` does it.
      flat = PIL.Image.new('RGB', image.size, background)
      flat.paste(image, mask=opacity)
      image = flat
    return image.convert(_TARGET_MODES[num_channels]), is_transparent
  except ValueError as error:
    raise ImageFileError(f'cannot be read ({error})') from error
