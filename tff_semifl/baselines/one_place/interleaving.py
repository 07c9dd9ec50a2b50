# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Interleaving: gives all batches the same mixture of images.

A model that normalizes by batch statistics then sees similar batches, each with
as many labeled images.

References:
  Berthelot, Carlini, Goodfellow, Papernot, Oliver, Raffel. MixMatch: A holistic
  approach to semi-supervised learning. NeurIPS 2019. The authors' code.
"""

from collections.abc import Sequence

import tensorflow as tf


def interleave(blocks: Sequence[tf.Tensor]) -> list[tf.Tensor]:
  """Exchanges part i of block 0 with part i of block i, for each i from 1.

  Each of n blocks, of the same shape, is cut into n parts. Applied twice it is
  the identity.
  """
  number = len(blocks)
  # If rows cannot be divided evenly, later parts have one more.
  num_rows = tf.shape(blocks[0])[0]
  small = num_rows // number
  num_large = num_rows - small * number
  sizes = [
    small + tf.cast(part >= number - num_large, tf.int32)
    for part in range(number)
  ]
  parts = [tf.split(block, tf.stack(sizes)) for block in blocks]
  for i in range(1, number):
    parts[0][i], parts[i][i] = parts[i][i], parts[0][i]
  return [
    tf.ensure_shape(tf.concat(part, axis=0), block.shape)
    for part, block in zip(parts, blocks, strict=True)
  ]
