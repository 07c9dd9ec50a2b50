# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Rotations by quarter turns, and their labels (ReMixMatch).

References:
  Gidaris, Singh, Komodakis. Unsupervised representation learning by predicting
  image rotations. ICLR 2018.
"""

import tensorflow as tf

NUM_ROTATIONS = 4


def rotate(images: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  """Rotates a quarter of the images each by 0, 90, 180 and 270 degrees.

  Args:
    images: [batch, size, size, channels] of any dtype, square.

  Returns:
    The rotated images, in another order, and the number of counterclockwise
    quarter turns of each, int32 [batch].
  """
  if images.shape[1] != images.shape[2]:
    raise ValueError(
      'a quarter turn changes the shape of images that are not square:'
      f' {images.shape[1:3]}'
    )
  parts = [images[turns::NUM_ROTATIONS] for turns in range(NUM_ROTATIONS)]
  turned = [tf.image.rot90(part, turns) for turns, part in enumerate(parts)]
  num_turns = [
    tf.fill([tf.shape(part)[0]], turns) for turns, part in enumerate(parts)
  ]
  return (
    tf.ensure_shape(tf.concat(turned, axis=0), images.shape),
    tf.concat(num_turns, axis=0),
  )
