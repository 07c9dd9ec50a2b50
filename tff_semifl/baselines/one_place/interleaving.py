# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Interleaving: batches of one kind become batches of all kinds (F.7).

A model that normalizes by the statistics of a batch is then given batches that
are alike, each with as many labeled images as the others.

References:
  Berthelot, Carlini, Goodfellow, Papernot, Oliver, Raffel. MixMatch: A holistic
  approach to semi-supervised learning. NeurIPS 2019. The authors' code.
"""

from collections.abc import Sequence

import tensorflow as tf


def interleave(blocks: Sequence[tf.Tensor]) -> list[tf.Tensor]:
  """Exchanges parts of blocks, so that each has a part of the first.

  With n blocks all are cut into n parts. Part i of block i, for each i from 1
  on, is exchanged for part i of block 0: block 0 then has a part of each, and
  each of the others has one of its own rows' parts replaced by block 0's. Doing
  so twice leaves everything as it was.

  Args:
    blocks: Tensors of the same shape, of which the first dimension, the rows,
      may be unknown.

  Returns:
    As many tensors of that shape.
  """
  number = len(blocks)
  # Where rows cannot be divided evenly, later parts have one more.
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
