# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pseudo-labels that a client gave in a turn, to be measured in a simulation.

Only a simulation knows the truth, and no computation here does. A client can
return its pseudo-labels beside its report, placed at the client; the program
that runs the simulation compares them with the truth (A.14). So the labels that
are measured are those that were trained on, whenever in the turn they were
made.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


class GivenLabels(NamedTuple):
  """Pseudo-labels, with an element for each time that an image got one.

  Attributes:
    image: int32 [number], the image's index among those of the client.
    label: int32 [number], its pseudo-label.
    share: float32 [number]. 0 if the label was not trained on; otherwise the
      number of labels that were made at the same time, divided by how many of
      them were trained on. Made at the same time are those of a batch, or of
      all images of a client that labels once.
  """

  image: tf.Tensor
  label: tf.Tensor
  share: tf.Tensor


GIVEN_LABELS_TYPE = tff.types.to_type(
  GivenLabels(
    *(
      tff.TensorType(dtype, (None,))
      for dtype in (np.int32, np.int32, np.float32)
    )
  )
)
# In place of an image, where there is no label.
_PADDING = -1


class LabelRoom(NamedTuple):
  """Room for labels, whose shape does not grow with their number.

  Attributes:
    labels: Labels, and padding after them.
    number: int32 scalar, how many labels there are.
  """

  labels: GivenLabels
  number: tf.Tensor


# Stands for `GivenLabels` where they are not asked for.
NOT_KEPT = ()
KeptLabels = GivenLabels | LabelRoom | tuple[()]


def none() -> GivenLabels:
  """Returns no labels, to be extended in a loop.

  Returns:
    `GivenLabels` of 0 elements, whose shapes are unknown.
  """
  # A constant would have a fixed shape, which could not grow in a loop.
  return GivenLabels(
    *(
      tf.compat.v1.placeholder_with_default(tf.zeros([0], dtype), [None])
      for dtype in (tf.int32, tf.int32, tf.float32)
    )
  )


def made_at_once(
  image: tf.Tensor,
  label: tf.Tensor,
  is_trained_on: tf.Tensor,
  is_real: tf.Tensor | None = None,
) -> GivenLabels:
  """Returns labels that were made at the same time.

  Args:
    image: int32 [number], the images that have them.
    label: int32 [number], their pseudo-labels.
    is_trained_on: bool [number], whether a label is trained on.
    is_real: bool [number], false for padding, which comes last; by default
      there is none.

  Returns:
    The labels, with shares that follow from the others made with them. Those of
    padding are of image -1, until `drop_padding` drops them.
  """
  number = tf.cast(tf.shape(label)[0], tf.float32)
  if is_real is not None:
    image = tf.where(is_real, image, _PADDING)
    is_trained_on &= is_real
    number = tf.math.count_nonzero(is_real, dtype=tf.float32)
  is_trained_on = tf.cast(is_trained_on, tf.float32)
  share = tf.math.divide_no_nan(number, tf.reduce_sum(is_trained_on))
  return GivenLabels(image, label, share * is_trained_on)


def extend(before: KeptLabels, added: GivenLabels) -> KeptLabels:
  """Adds labels to earlier ones.

  Args:
    before: The earlier ones.
    added: The later ones.

  Returns:
    All of them, in this order; `NOT_KEPT` if the earlier ones are not kept.
  """
  if before == NOT_KEPT:
    return NOT_KEPT
  if isinstance(before, LabelRoom):
    return _write(before, added)
  return GivenLabels(
    *(tf.concat(pair, axis=0) for pair in zip(before, added, strict=True))
  )


def make_room(number: tf.Tensor) -> LabelRoom:
  """Returns room for labels, without any in it.

  Args:
    number: int32 scalar, how many there is room for, with their padding.
  """
  return LabelRoom(
    GivenLabels(
      tf.fill([number], _PADDING),
      tf.zeros([number], tf.int32),
      tf.zeros([number], tf.float32),
    ),
    tf.constant(0),
  )


def drop_padding(labels: KeptLabels) -> KeptLabels:
  """Returns labels without padding.

  Args:
    labels: The labels.
  """
  if isinstance(labels, LabelRoom):
    labels = labels.labels
  if labels == NOT_KEPT:
    return NOT_KEPT
  is_real = labels.image > _PADDING
  return tf.nest.map_structure(
    lambda array: tf.boolean_mask(array, is_real), labels
  )


def reject(labels: KeptLabels, is_rejected: tf.Tensor) -> KeptLabels:
  """Returns labels, or nothing but padding.

  Args:
    labels: The labels.
    is_rejected: bool scalar, whether to return padding.
  """
  if labels == NOT_KEPT:
    return NOT_KEPT
  if isinstance(labels, LabelRoom):
    labels = labels.labels
  return labels._replace(image=tf.where(is_rejected, _PADDING, labels.image))


def _write(room: LabelRoom, added: GivenLabels) -> LabelRoom:
  """Writes labels after the others; what is padding will be written over."""
  places = room.number + tf.range(tf.shape(added.image)[0])
  return LabelRoom(
    tf.nest.map_structure(
      lambda array, new: tf.tensor_scatter_nd_update(
        array, places[:, tf.newaxis], new
      ),
      room.labels,
      added,
    ),
    room.number + tf.math.count_nonzero(added.image > _PADDING, dtype=tf.int32),
  )
