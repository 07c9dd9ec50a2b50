# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Products that are rounded before anything is added to them.

Where XLA compiles `a * b + c`, it rounds once, after the sum. If a fraction of
a gray level is cut off then, some pixels would be a level away from Pillow's.
"""

import tensorflow as tf

# More than any product of gray levels.
_LIMIT = 1e30


def product(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
  """Returns the product, rounded, of numbers whose product is below 1e30.

  Args:
    first: float32 or float64.
    second: The same.

  Returns:
    A tensor of the dtype of both.
  """
  # Nothing is larger; but a sum of a minimum cannot be computed at once.
  return tf.minimum(first * second, _LIMIT)
