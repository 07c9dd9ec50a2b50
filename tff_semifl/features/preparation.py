# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Prepares images for a backbone's first layer."""

from collections.abc import Callable
import dataclasses

import tensorflow as tf

from tff_semifl.data import resizing
from tff_semifl.models import pixels


@dataclasses.dataclass(frozen=True)
class Preparation:
  """Resizes images and scales their pixels.

  Attributes:
    image_size: Height and width of the network's input.
    scaling: A name for `scale`, such as '(x - 127) / 128': part of the key of
      cached features.
    scale: Scales float32 [batch, height, width, 3] in 0..255.
  """

  image_size: tuple[int, int]
  scaling: str
  scale: Callable[[tf.Tensor], tf.Tensor]

  def __call__(self, images: tf.Tensor) -> tf.Tensor:
    """Prepares images.

    Args:
      images: [batch, height, width, 1 or 3] in 0..255, uint8 or float32, of
        static height and width. Gray images are repeated to three channels.

    Returns:
      float32 [batch, *image_size, 3], scaled.
    """
    if images.shape.rank != 4 or images.shape[-1] not in (1, 3):
      raise ValueError(
        f'found images of shape {images.shape}; give [images, height, width, 1'
        ' or 3]'
      )
    fitted = fit(images, self.image_size)
    if fitted.shape[-1] == 1:
      fitted = tf.repeat(fitted, 3, axis=-1)
    return self.scale(fitted)

  @property
  def description(self) -> str:
    """One line that changes whenever the result for an image does."""
    height, width = self.image_size
    return f'cover {height}x{width}, bilinear, antialiased; {self.scaling}'


def fit(images: tf.Tensor, image_size: tuple[int, int]) -> tf.Tensor:
  """`resizing.scale_and_crop`, with fewer operations where possible.

  Args:
    images: [batch, height, width, channels] in 0..255, uint8 or float32, of
      static height and width.

  Returns:
    float32 [batch, *image_size, channels] in 0..255.
  """
  height, width = images.shape[1:3]
  if height is None or width is None:
    raise ValueError(f'found images of shape {images.shape}; give one size')
  if (height, width) == image_size:
    return tf.cast(images, tf.float32)
  # Without cropping or antialiasing, plain bilinear resizing gives equal
  # results, and TFLite has it.
  if height * image_size[1] == width * image_size[0] and height < image_size[0]:
    return tf.image.resize(tf.cast(images, tf.float32), image_size)
  return resizing.scale_and_crop(images, *image_size)


def in_range(image_size: tuple[int, int], name: str) -> Preparation:
  """A preparation for a network that takes pixels in a range.

  Args:
    name: The range, one of `pixels.NAMES`, such as '-1_to_1'.
  """
  if name not in pixels.NAMES:
    raise ValueError(
      f'input_range: found {name!r}; give one of' f' {", ".join(pixels.NAMES)}'
    )
  return Preparation(
    image_size, name, lambda images: pixels.rescale(images, name)
  )
