# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Learning rates and loss weights as functions of the round or step."""

import math

import tensorflow as tf


def cosine_decay(
  round_num: tf.Tensor | int, *, initial_value: float, total_rounds: int
) -> tf.Tensor:
  """Cosine decay over the rounds, without warm-up (SemiFL, appendix C.1).

  Round t of T has the value `initial_value * (1 + cos(pi * (t - 1) / T)) / 2`:
  close to 0, but not 0, in round T. Round 0 has the value of round 1.
  """
  elapsed = tf.cast(tf.maximum(round_num - 1, 0), tf.float32)
  return initial_value * 0.5 * (1.0 + tf.cos(math.pi * elapsed / total_rounds))


def warm_up_and_cosine(
  step: tf.Tensor | int,
  *,
  base_value: float,
  warm_up_steps: int,
  total_steps: int,
  half_turns: float,
  floor: float,
) -> tf.Tensor:
  """Linear warm-up, then part of a cosine (equation 10 of Zhang et al.).

  With w for `warm_up_steps`, less than n for `total_steps`, the value at step
  t, from 0, is

      base_value * t / w                                          if t < w
      base_value * max(cos(pi * half_turns * (t - w) / (n - w)), floor)   else

  For CIFAR-10 the authors' code has 7/16 half turns in 200 epochs of 1,024
  steps. The paper's 2.3 half turns in 300 epochs would reach the floor before a
  quarter of the way and return to the top.
  """
  step = tf.cast(step, tf.float32)
  share = (step - warm_up_steps) / (total_steps - warm_up_steps)
  cosine = tf.maximum(tf.cos(math.pi * half_turns * share), floor)
  return base_value * tf.where(
    step < warm_up_steps, step / max(warm_up_steps, 1), cosine
  )


def ramp_up(position: tf.Tensor | float, length: float) -> tf.Tensor:
  """A float32 scalar that rises linearly from 0 at 0 to 1 at `length`.

  A length of 0 is a constant 1.
  """
  if length <= 0:
    return tf.ones([])
  return tf.minimum(tf.cast(position, tf.float32) / length, 1.0)
