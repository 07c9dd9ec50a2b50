# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pseudo-labels: what the received global model says of unlabelled images.

SemiFL (NeurIPS 2022), section 3.3: a client labels all its images once, when it
receives the model (equation 2), and trains on those labels until it returns.
"""

from typing import NamedTuple

import tensorflow as tf


class PseudoLabels(NamedTuple):
  """One guess for each image.

  Attributes:
    labels: int32 [num_images], the most probable class (hard labels, D12).
    confidences: float32 [num_images] in [0, 1], its probability.
    probabilities: float32 [num_images, classes], of all classes (soft labels).
  """

  labels: tf.Tensor
  confidences: tf.Tensor
  probabilities: tf.Tensor


def from_logits(logits: tf.Tensor) -> PseudoLabels:
  """Returns the most probable class of each row and its probability.

  Args:
    logits: float [num_images, classes], from the model in inference mode.
  """
  probabilities = tf.nn.softmax(tf.cast(logits, tf.float32))
  return PseudoLabels(
    labels=tf.argmax(probabilities, axis=-1, output_type=tf.int32),
    confidences=tf.reduce_max(probabilities, axis=-1),
    probabilities=probabilities,
  )


def is_confident(labels: PseudoLabels, threshold: float) -> tf.Tensor:
  """Returns bool [num_images]: confidence at or above `threshold` (A.6).

  The comparison is inclusive: an image at exactly the threshold counts.

  Args:
    labels: The pseudo-labels.
    threshold: A probability in (0, 1]; 0.95 in the paper.
  """
  return labels.confidences >= threshold
