# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Scales images with more than 8 bits per channel to 8.

Pillow keeps 16 bits of gray images, and clips them at 255 when converting,
which makes nearly all of them white. Of colors it keeps the upper 8 bits.
"""

from typing import NamedTuple

import numpy as np
import PIL.Image

_LARGEST = 2**16 - 1
# Cameras and scanners of 10, 12 or 14 bits write files of 16. These look like
# dark images of 16 bits: no level uses the two upper bits.
_AMBIGUOUS_BELOW = 2**14
# TIFF tags: BitsPerSample, PhotometricInterpretation and SampleFormat.
_BITS_TAG, _PHOTOMETRIC_TAG, _FORMAT_TAG = 258, 262, 339
_WHITE_IS_ZERO = 0
_UNSIGNED = 1


class DepthError(Exception):
  """Raised if levels have no clear scale; completes "<file> ..."."""


class Depth(NamedTuple):
  """The range of levels that the pixels of a file may have.

  Attributes:
    largest: The largest level of an image with more than 8 bits per channel, as
      Pillow loads it; None if unknown.
    may_be_less: Whether the upper of 16 bits per channel may be unused.
    is_inverted: Whether 0 is white and `largest` black.
  """

  largest: int | None
  may_be_less: bool = False
  is_inverted: bool = False


def read_depth(image: PIL.Image.Image) -> Depth:
  """Reads the levels of an image that was opened, not loaded."""
  if image.format == 'PPM':
    # The header has the level of white, which Pillow scales to 16 bits.
    return Depth(_LARGEST)
  if image.format == 'TIFF':
    bits = max(image.tag_v2.get(_BITS_TAG, (1,)))
    is_signed = set(image.tag_v2.get(_FORMAT_TAG, ())) - {_UNSIGNED}
    return Depth(
      None if bits > 16 or is_signed else 2**bits - 1,
      may_be_less=bits == 16,
      is_inverted=image.tag_v2.get(_PHOTOMETRIC_TAG) == _WHITE_IS_ZERO,
    )
  # Pillow's raw mode: the mode of a color image does not tell its bits.
  return Depth(
    _LARGEST, may_be_less=any(';16' in str(tile[3]) for tile in image.tile)
  )


def scale_to_8_bits(image: PIL.Image.Image, depth: Depth) -> PIL.Image.Image:
  """Scales an image of more than 8 bits per channel to 8, with 255 for white.

  The image must be loaded. Others are returned as they are.
  """
  is_gray = image.mode.startswith('I')
  if image.mode == 'F' or (is_gray and depth.largest is None):
    raise DepthError(
      f'has levels of no clear scale (mode {image.mode}: more than 16 bits,'
      ' signed, or fractions); convert it to 8 bits'
    )
  if depth.may_be_less:
    _check_is_not_dark(image, unit=1 if is_gray else 2**8)
  if not is_gray:
    return image
  levels = np.asarray(image).astype(np.int64)
  if depth.is_inverted:
    levels = depth.largest - levels
  scaled = (levels * 255 + depth.largest // 2) // depth.largest
  return PIL.Image.fromarray(scaled.astype(np.uint8))


def _check_is_not_dark(image: PIL.Image.Image, *, unit: int) -> None:
  """Checks that all 16 bits are in use, unless the image is black."""
  largest = unit * max(
    int(np.max(channel))
    for name, channel in zip(image.getbands(), image.split(), strict=True)
    if name != 'A'
  )
  if 0 < largest < _AMBIGUOUS_BELOW:
    raise DepthError(
      f'has 16 bits a channel but no level above {largest} of {_LARGEST}: it is'
      ' very dark, or of 10, 12 or 14 bits; convert it to 8 bits'
    )
