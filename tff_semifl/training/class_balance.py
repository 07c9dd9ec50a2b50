# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Training on imbalanced labels: logit adjustment, balanced batches.

References:
  Menon, Jayasumana, Rawat, Jain, Veit, Kumar. Long-tail learning via logit
  adjustment. ICLR 2021.
"""

import tensorflow as tf

from tff_semifl.randomness import random_draws
from tff_semifl.training import rows as rows_lib

# A class without labels counts as one with so many, as its logarithm is finite.
_LEAST_COUNT = 1.0


def log_shares(labels: tf.Tensor, num_classes: int) -> tf.Tensor:
  """The logarithms of the class shares of labels, float32 [classes], finite.

  A class without labels counts as one with one; there may be no image.
  """
  counts = tf.math.unsorted_segment_sum(
    tf.ones_like(labels, tf.float32), labels, num_classes
  )
  counts = tf.maximum(counts, _LEAST_COUNT)
  return tf.math.log(counts / tf.reduce_sum(counts))


def draw_balanced(
  examples: rows_lib.Rows, labels: tf.Tensor, seed: tf.Tensor
) -> rows_lib.Rows:
  """Draws as many examples with balanced classes, independently of each other.

  First a class of those in `labels`, int32 [examples], then one of its
  examples.
  """
  _, class_of, sizes = tf.unique_with_counts(labels)
  # In 64 bits, so that the sum over many examples is exact enough.
  ends = tf.cumsum(1.0 / tf.cast(tf.gather(sizes, class_of), tf.float64))
  draws = random_draws.uniform([examples.number], seed)
  drawn = tf.searchsorted(
    ends,
    tf.cast(draws, tf.float64) * tf.cast(tf.size(sizes), tf.float64),
    side='right',
  )
  # The last end may be rounded to less than the number of classes.
  drawn = tf.minimum(drawn, examples.number - 1)
  return examples.replace(rows_lib.gather(examples.examples, drawn))
