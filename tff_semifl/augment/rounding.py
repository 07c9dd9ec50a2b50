# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Products that are rounded before a sum.

XLA computes `a * b + c` with a single rounding. Truncating the result would
give some pixels another gray level than Pillow's.
"""

import tensorflow as tf

# More than any product of gray levels.
_LIMIT = 1e30


def product(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
  """The rounded product of floats, if it is below 1e30."""
  # XLA cannot fuse a minimum into a multiply-add.
  return tf.minimum(first * second, _LIMIT)
