# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pseudo-labels: predictions of a model for unlabeled images.

A client of SemiFL (NeurIPS 2022, section 3.3) labels all its images once, when
it receives the model (equation 2), and trains on these labels.
"""

from typing import NamedTuple

import tensorflow as tf

from tff_semifl.core import rows


class PseudoLabels(NamedTuple):
  """Pseudo-labels of images, hard and soft.

  Attributes:
    labels: int32 [num_images], the most probable class (hard labels).
    confidences: float32 [num_images] in [0, 1], the highest probability.
    probabilities: float32 [num_images, classes] (soft labels).
    prior: float32 [classes], an estimate of the class shares of the images
      (`client_prior`), or None.
    unaligned: float32 [num_images, classes], the probabilities before
      distribution alignment; None without alignment.
    offset: float32 [classes] or [num_images, classes], added to logits in the
      losses, or None.
  """

  labels: tf.Tensor
  confidences: tf.Tensor
  probabilities: tf.Tensor
  prior: tf.Tensor | None = None
  unaligned: tf.Tensor | None = None
  offset: tf.Tensor | None = None

  def as_rows(self) -> 'PseudoLabels':
    """The fields needed in training; `offset` also has a row for each image."""
    offset = self.offset
    if offset is not None:
      offset = tf.broadcast_to(offset, tf.shape(self.probabilities))
    return PseudoLabels(
      self.labels, self.confidences, self.probabilities, offset=offset
    )


def complete(labels: tf.Tensor, num_classes: int) -> PseudoLabels:
  """`PseudoLabels` from classes [images] or probabilities [images, classes]."""
  if labels.dtype.is_floating:
    return PseudoLabels(
      labels=tf.argmax(labels, axis=-1, output_type=tf.int32),
      confidences=tf.reduce_max(labels, axis=-1),
      probabilities=labels,
    )
  return PseudoLabels(
    labels=tf.cast(labels, tf.int32),
    confidences=tf.ones_like(labels, tf.float32),
    probabilities=tf.one_hot(labels, num_classes),
  )


def from_logits(logits: tf.Tensor) -> PseudoLabels:
  """Pseudo-labels from logits, float [num_images, classes], by softmax."""
  probabilities = tf.nn.softmax(tf.cast(logits, tf.float32))
  return complete(probabilities, logits.shape[-1])


def with_true_labels(
  labels: PseudoLabels, true_labels: tf.Tensor
) -> PseudoLabels:
  """Inserts true labels, int32 [images], with confidence 1; -1 is unknown."""
  true = complete(true_labels, labels.probabilities.shape[-1])
  is_known = tf.greater_equal(true_labels, 0)
  return labels._replace(
    labels=tf.where(is_known, true.labels, labels.labels),
    confidences=tf.where(is_known, true.confidences, labels.confidences),
    probabilities=tf.where(
      is_known[:, tf.newaxis], true.probabilities, labels.probabilities
    ),
  )


# The value of `GivenLabels.image` for padding.
PADDING = -1


class GivenLabels(NamedTuple):
  """Pseudo-labels, one element for each time that an image was labeled.

  Attributes:
    image: int32 [number], the index of the image at the client; -1 for padding.
    label: int32 [number], the pseudo-label.
    share: float32 [number], 0 if the label was not used for training, else
      n / k. Of the n labels that were made together, for a batch or for all
      images of a client, k were used for training.
  """

  image: tf.Tensor
  label: tf.Tensor
  share: tf.Tensor

  def extend(self, added: 'GivenLabels') -> 'GivenLabels':
    return GivenLabels(
      *(tf.concat(pair, axis=0) for pair in zip(self, added, strict=True))
    )

  def keep_if(self, is_kept: tf.Tensor) -> 'GivenLabels':
    """Removes padding, and all labels unless `is_kept`, a bool scalar."""
    is_label = is_kept & (self.image > PADDING)
    return GivenLabels(*(tf.boolean_mask(array, is_label) for array in self))


def no_given_labels() -> GivenLabels:
  """Empty `GivenLabels` of unknown shape, which a loop can extend."""
  dtypes = (tf.int32, tf.int32, tf.float32)
  return GivenLabels(*(rows.no_rows([], dtype) for dtype in dtypes))


def give_at_once(
  image: tf.Tensor,
  label: tf.Tensor,
  is_trained_on: tf.Tensor,
  is_real: tf.Tensor | bool = True,
) -> GivenLabels:
  """The `GivenLabels` of images that were labeled together.

  Arguments are [number]. `is_real` is false for padding and for images with
  true labels; these rows become padding at the end of the result.
  """
  number = tf.cast(tf.shape(label)[0], tf.float32)
  if is_real is not True:
    order = tf.argsort(tf.where(is_real, 0, 1), stable=True)
    image = tf.gather(tf.where(is_real, image, PADDING), order)
    label = tf.gather(label, order)
    is_trained_on = tf.gather(is_trained_on & is_real, order)
    number = tf.math.count_nonzero(is_real, dtype=tf.float32)
  is_trained_on = tf.cast(is_trained_on, tf.float32)
  share = tf.math.divide_no_nan(number, tf.reduce_sum(is_trained_on))
  return GivenLabels(image, label, share * is_trained_on)
