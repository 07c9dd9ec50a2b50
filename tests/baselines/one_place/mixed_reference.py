# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Mixup and interleaving of MixMatch, written out a second time (F.7)."""

import numpy as np
import tensorflow as tf

from tests import fix_mix_reference
from tests import pooled_reference
from tff_semifl.randomness import random_draws


def mix(step, images, labels, concentration):
  """Mixes each image with one of a new order, in float64."""
  seed = step.seed('MIXUP_COEFFICIENT')
  number = len(images)
  order = tf.random.experimental.stateless_shuffle(
    tf.range(number), random_draws.fold_in(seed, 0)
  ).numpy()
  share = fix_mix_reference.draw_beta(
    number, random_draws.fold_in(seed, 1), concentration
  )
  share = np.maximum(share, 1 - share)[:, None]
  return tuple(
    share * rows + (1 - share) * rows[order] for rows in (images, labels)
  )


def predict(step, images):
  """Returns logits by passes that have an even share of each kind.

  Part i of the labeled images is passed with block i, in the place of its part
  i, which is passed with the rest of the labeled ones.
  """
  size = pooled_reference.BATCH_SIZE
  num_blocks = len(images) // size
  # The last parts have the remainder.
  bounds = np.cumsum(
    [0]
    + [
      size // num_blocks + (i >= num_blocks - size % num_blocks)
      for i in range(num_blocks)
    ]
  )
  rows = np.arange(len(images)).reshape(num_blocks, size)
  for i in range(1, num_blocks):
    part = slice(bounds[i], bounds[i + 1])
    rows[0, part], rows[i, part] = rows[i, part].copy(), rows[0, part].copy()
  logits = tf.concat([step.f(images[block]) for block in rows], axis=0)
  return tf.gather(logits, np.argsort(rows.ravel()))
