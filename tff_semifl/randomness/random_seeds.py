# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Every random number of a run, as a function of (seed, purpose, ...).

Nothing in this project draws from a hidden generator. A draw is keyed by the
run's seed, by what it is for, and by whichever of round, client and epoch it
belongs to, so that two runs with the same flags agree, a resumed run agrees
with one that was never interrupted, and no two purposes share a stream.

The seed is public. What must be secret in a private run, the noise and who
takes part, follows from its `privacy_key` instead.
"""

import enum

import numpy as np
import tensorflow as tf

from tff_semifl.randomness import random_draws


@enum.unique
class Purpose(enum.IntEnum):
  """The purpose of a random number. Values are part of a run's identity."""

  LABEL_SPLIT = 0
  CLIENT_PARTITION = 1
  INITIAL_WEIGHTS = 2
  COHORT = 3
  SERVER_ORDER = 4
  SERVER_AUGMENTATION = 5
  PSEUDO_LABEL_VIEW = 6
  FIX_ORDER = 7
  MIX_DRAW = 8
  STRONG_VIEW = 9
  WEAK_VIEW = 10
  MIX_VIEW = 11
  MIXUP_COEFFICIENT = 12
  CLIENT_DROPOUT = 13
  DROPOUT_MASK = 15
  PROBE_IMAGE = 16
  VALIDATION_SPLIT = 17
  SHARED_IMAGE = 18


def numpy_generator(
  seed: int, purpose: Purpose, *keys: int
) -> np.random.Generator:
  """Returns a NumPy generator for `purpose`, for work done before training.

  Args:
    seed: The run's seed, a non-negative integer of any size.
    purpose: What the numbers are for.
    *keys: Further non-negative keys, such as the round.
  """
  return np.random.default_rng([seed, int(purpose), *keys])


def stateless_seed(
  seed: tf.Tensor | int, purpose: Purpose, *keys: tf.Tensor | int
) -> tf.Tensor:
  """Returns the seed that `tf.random.stateless_*` takes for `purpose`.

  Args:
    seed: The run's seed, an integer scalar.
    purpose: What the numbers are for.
    *keys: Integer scalars: round, client, epoch, batch, as far as they apply.

  Returns:
    An int32 tensor of shape [2].
  """
  result = tf.stack([tf.cast(seed, tf.int32), tf.constant(int(purpose))])
  for key in keys:
    result = fold_in(result, key)
  return result


def fold_in(seed: tf.Tensor, key: tf.Tensor | int) -> tf.Tensor:
  """Returns a new stateless seed, int32 [2], from `seed` and one more key."""
  return random_draws.fold_in(seed, tf.cast(key, tf.int32))
