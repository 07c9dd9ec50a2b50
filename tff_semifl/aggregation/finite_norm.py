# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The check of what a client sends."""

from typing import Any

import tensorflow as tf


def has_finite_norm(values: Any) -> tf.Tensor:
  """Whether the joint L2 norm of all floats in a structure is finite, a bool.

  Finite numbers above 1.8e19 have no finite norm: their squares overflow
  float32. Clipping to a norm would make NaN of these numbers.
  """
  arrays = map(tf.convert_to_tensor, tf.nest.flatten(values))
  norm = tf.linalg.global_norm(
    [tf.cast(a, tf.float32) for a in arrays if a.dtype.is_floating]
  )
  return tf.math.is_finite(norm)
