# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Learning rates as functions of the round."""

import math

import tensorflow as tf


def cosine_decay(
  round_num: tf.Tensor | int, *, initial_value: float, total_rounds: int
) -> tf.Tensor:
  """Half a cosine over the rounds, without warm-up (SemiFL section 4, D7).

  Round t of T has the value `initial_value * (1 + cos(pi * (t - 1) / T)) / 2`:
  the initial value in round 1, and close to zero but not zero in round T.
  Round 0, in which only the server trains, has the value of round 1 (D1).

  Args:
    round_num: Integer scalar, the round t, from 0 to `total_rounds`.
    initial_value: The value in round 1.
    total_rounds: The number of rounds T.

  Returns:
    A float32 scalar.
  """
  if total_rounds < 1:
    raise ValueError(f'`total_rounds` must be positive, found {total_rounds}.')
  elapsed = tf.cast(tf.maximum(round_num - 1, 0), tf.float32)
  return initial_value * 0.5 * (1.0 + tf.cos(math.pi * elapsed / total_rounds))
