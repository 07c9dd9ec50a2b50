# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The seeds of all random numbers of a run, from (seed, purpose, ...).

No global generator is used. Therefore runs with the same flags agree, even if
one was interrupted. Each purpose has its own stream of numbers.

The seed is public. The noise and the cohorts of a private run are secret; they
follow from the `privacy_key` of the run.
"""

import enum

import numpy as np
import tensorflow as tf

from tff_semifl.randomness import random_draws


@enum.unique
class Purpose(enum.IntEnum):
  """The purpose of a random number; changing a value changes all runs."""

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
  CLIENT_TEST = 19
  SHARE_PRIOR_CLIENT = 20
  LABELED_CLIENT = 21


def numpy_generator(
  seed: int, purpose: Purpose, *keys: int
) -> np.random.Generator:
  """A NumPy generator for a purpose and further keys, integers >= 0."""
  return np.random.default_rng([seed, int(purpose), *keys])


def stateless_seed(
  seed: tf.Tensor | int, purpose: Purpose, *keys: tf.Tensor | int
) -> tf.Tensor:
  """A seed for a purpose, int32 [2], for `tf.random.stateless_*`.

  `keys` are integer scalars: round, client, epoch and batch, where they apply.
  """
  result = tf.stack([tf.cast(seed, tf.int32), tf.constant(int(purpose))])
  for key in keys:
    result = random_draws.fold_in(result, key)
  return result
