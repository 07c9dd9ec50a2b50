# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads image files, rotates images upright, and scales them to one size.

Error messages are predicates, such as 'is empty': callers prepend the file.
"""

from collections.abc import Callable, Iterator
import contextlib
import functools
import os
import pathlib
import re

import numpy as np
import PIL.ExifTags
import PIL.Image
import PIL.ImageOps
import tensorflow as tf

from tff_semifl.data import data_errors
from tff_semifl.data import pixels

# Formats are recognized by the bytes of a file. Pillow's many other decoders
# are rarely audited, and its PostScript decoder runs Ghostscript.
_FORMATS = ('JPEG', 'PNG', 'GIF', 'BMP', 'PPM', 'WEBP', 'TIFF')
_TARGET_MODES = {1: 'L', 3: 'RGB'}
# The TIFF tag BitsPerSample.
_BITS_TAG = 258
# EXIF orientations that swap height and width.
_LYING = range(5, 9)


def read_image(
  file: pathlib.Path, shape: tuple[int, int, int]
) -> tuple[np.ndarray, bool]:
  """Reads an image, and scales and crops it to a shape.

  `shape` is (height, width, channels). Returns the image, uint8, and whether
  the size of the image changed.
  """
  height, width, num_channels = shape
  image = read_image_of_any_size(file, num_channels)
  if image.shape == shape:
    return image, False
  return fit_image(image, height, width), True


def read_image_of_any_size(file: pathlib.Path, num_channels: int) -> np.ndarray:
  """Reads an image: JPEG, PNG, GIF, BMP, PPM, WebP or TIFF, of 8 bits.

  Applies the EXIF orientation, puts transparent pixels on white, and takes the
  first frame of an animation. Returns uint8 [height, width, num_channels].
  """
  image = _open(file)
  try:
    if image.has_transparency_data:
      image = image.convert('RGBA')
      # Pillow rounds to the nearest integer, as does `saved_model.decode`.
      flat = PIL.Image.new('RGB', image.size, 'white')
      flat.paste(image, mask=image.getchannel('A'))
      image = flat
    image = image.convert(_TARGET_MODES[num_channels])
  except ValueError as error:
    raise data_errors.DataError(f'cannot be read ({error})') from error
  return np.asarray(image).reshape(image.height, image.width, num_channels)


def read_size(file: pathlib.Path) -> tuple[int, int]:
  """Height and width after EXIF rotation, mostly read from the header."""
  with _opening(file) as image:
    width, height = image.size
    orientation = image.getexif().get(PIL.ExifTags.Base.Orientation)
    # For TIFF images, Pillow gives the upright size.
    if orientation in _LYING and image.format != 'TIFF':
      width, height = height, width
  return height, width


def _open(file: pathlib.Path) -> PIL.Image.Image:
  with _opening(file) as image:
    # Pillow would clip gray levels at 255, and keep the upper 8 bits of colors.
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
  # Opening a named pipe would block.
  if not os.path.isfile(file):
    raise data_errors.DataError('is neither a file nor a link to one')
  # A small file may declare a size that exhausts the memory. Users may set
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


def fit_image(image: np.ndarray, height: int, width: int) -> np.ndarray:
  """Scales and crops an image, uint8 [height, width, channels]."""
  fit = _create_function(height, width, image.shape[-1])
  return fit(image[np.newaxis]).numpy()[0].astype(np.uint8)


# A graph takes half the time of eager operations.
@functools.cache
def _create_function(
  height: int, width: int, num_channels: int
) -> Callable[[np.ndarray], tf.Tensor]:
  return tf.function(
    functools.partial(pixels.fit_to_size, height=height, width=width),
    input_signature=[tf.TensorSpec([None, None, None, num_channels], tf.uint8)],
    autograph=False,
  )
