# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads image files: decoded, upright and of one size.

Error messages are predicates: callers put the name of the file in front.
"""

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

from tff_semifl.data import data_errors
from tff_semifl.data import pixels

# Formats are recognized by the files' bytes. Pillow's many other decoders are
# hardly audited, and its PostScript decoder runs Ghostscript.
_FORMATS = ('JPEG', 'PNG', 'GIF', 'BMP', 'PPM', 'WEBP', 'TIFF')
_TARGET_MODES = {1: 'L', 3: 'RGB'}
# The TIFF tag BitsPerSample.
_BITS_TAG = 258
# EXIF orientations that swap height and width.
_LYING = range(5, 9)

# Red, green and blue in 0..255.
Color: TypeAlias = tuple[int, int, int]
WHITE: Color = (255, 255, 255)


class OnOddSize(enum.Enum):
  """The treatment of images that differ from the requested size."""

  REFUSE = 'refuse'
  # Scale to cover the size, and crop the center.
  RESIZE = 'resize'


class DecodedImage(NamedTuple):
  """The image of a file, uint8 [height, width, channels]."""

  pixels: np.ndarray
  is_resized: bool
  is_transparent: bool


def parse_color(text: str) -> Color | None:
  """Parses a CSS color; None if the text is invalid or has an opacity."""
  try:
    color = PIL.ImageColor.getrgb(text)
  except ValueError:
    return None
  return color if len(color) == 3 else None


def name_color(color: Color) -> str:
  """Formats a color as CSS text, which `parse_color` reads."""
  return 'white' if color == WHITE else '#{:02x}{:02x}{:02x}'.format(*color)


def read_image(
  file: pathlib.Path,
  shape: tuple[int, int, int],
  on_odd_size: OnOddSize,
  background: Color = WHITE,
) -> DecodedImage:
  """Reads an image: JPEG, PNG, GIF, BMP, PPM, WebP or TIFF, of 8 bits.

  Applies the EXIF orientation. Reads the first frame of an animation.
  """
  height, width, num_channels = shape
  image = _open(file)
  if image.size == (width, height):
    return _to_pixels(image, num_channels, background)
  if on_odd_size is OnOddSize.REFUSE:
    raise data_errors.DataError(
      f'is {image.height}x{image.width}, not {height}x{width}', 'on_odd_size'
    )
  decoded = _to_pixels(image, num_channels, background)
  fitted = pixels.fit_image(decoded.pixels, height, width)
  return decoded._replace(pixels=fitted, is_resized=True)


def read_image_of_any_size(
  file: pathlib.Path, num_channels: int, background: Color = WHITE
) -> DecodedImage:
  """Reads an image as `read_image` does, but keeps the image's own size."""
  return _to_pixels(_open(file), num_channels, background)


def read_size(file: pathlib.Path) -> tuple[int, int]:
  """The height and width after EXIF rotation; decodes pixels of few formats."""
  with _opening(file) as image:
    width, height = image.size
    orientation = image.getexif().get(PIL.ExifTags.Base.Orientation)
    # Pillow's size of TIFF images is upright already.
    if orientation in _LYING and image.format != 'TIFF':
      width, height = height, width
  return height, width


def _open(file: pathlib.Path) -> PIL.Image.Image:
  """Loads an image and applies its EXIF orientation."""
  with _opening(file) as image:
    # Pillow clips gray levels at 255, and of colors keeps the upper 8 bits.
    bits = image.tag_v2.get(_BITS_TAG, (1,)) if image.format == 'TIFF' else ()
    is_deep = max(bits, default=1) > 8 or any(
      ';16' in str(tile[3]) for tile in image.tile
    )
    if is_deep or image.mode.startswith(('I', 'F')):
      raise data_errors.DataError(
        'has more than 8 bits a channel; convert it to 8 bits'
      )
    image.load()
    return PIL.ImageOps.exif_transpose(image)


@contextlib.contextmanager
def _opening(file: pathlib.Path) -> Iterator[PIL.Image.Image]:
  """Opens an image without loading it; raises every error as `DataError`."""
  # Opening a pipe would block.
  if not os.path.isfile(file):
    raise data_errors.DataError('is neither a file nor a link to one')
  # A small file may claim a size that exhausts the memory. Users may set
  # Pillow's limit; None is no limit.
  limit = PIL.Image.MAX_IMAGE_PIXELS
  try:
    with (
      open(file, 'rb') as stream,
      PIL.Image.open(stream, formats=_FORMATS) as image,
    ):
      num_pixels = image.width * image.height
      # Up to twice the limit, Pillow only warns.
      if limit is not None and num_pixels > limit:
        raise PIL.Image.DecompressionBombError(f'{num_pixels} pixels')
      yield image
  except data_errors.DataError:
    raise
  except PIL.UnidentifiedImageError as error:
    raise data_errors.DataError(_describe_unknown(file)) from error
  except PIL.Image.DecompressionBombError as error:
    num_pixels = int(re.search(r'\d+', str(error))[0])
    raise data_errors.DataError(
      f'has {num_pixels:,} pixels, more than the {limit:,} that are decoded'
    ) from error
  # Pillow's decoders raise errors of many types.
  except Exception as error:
    raise data_errors.DataError(f'cannot be read ({error})') from error


def _describe_unknown(file: pathlib.Path) -> str:
  """The message on a file that Pillow cannot decode, such as a HEIC photo."""
  with open(file, 'rb') as stream:
    header = stream.read(12)
  if header[4:8] == b'ftyp':
    return 'has the format HEIC or AVIF; convert it to JPEG'
  return 'is no JPEG, PNG, GIF, BMP, PPM, WebP or TIFF image'


def _to_pixels(
  image: PIL.Image.Image, num_channels: int, background: Color
) -> DecodedImage:
  """Converts an image to opaque pixels, in the image's own size."""
  try:
    opacity = None
    if image.has_transparency_data:
      image = image.convert('RGBA')
      opacity = image.getchannel('A')
    is_transparent = opacity is not None and opacity.getextrema()[0] < 255
    if is_transparent:
      # Pillow rounds to the nearest integer, as `decoding` does.
      flat = PIL.Image.new('RGB', image.size, background)
      flat.paste(image, mask=opacity)
      image = flat
    image = image.convert(_TARGET_MODES[num_channels])
  except ValueError as error:
    raise data_errors.DataError(f'cannot be read ({error})') from error
  return DecodedImage(
    np.asarray(image).reshape(image.height, image.width, num_channels),
    is_resized=False,
    is_transparent=is_transparent,
  )
