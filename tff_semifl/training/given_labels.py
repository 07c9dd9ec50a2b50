# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The pseudo-labels of a client, which a simulation compares with the truth.

No computation here knows the truth. A client returns the labels that it trained
on, placed at the client, and the program that runs the simulation compares
them.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


class GivenLabels(NamedTuple):
  """Pseudo-labels, an element for each time that an image got one.

  Attributes:
    image: int32 [number], the image's index among those of the client.
    label: int32 [number], the pseudo-label.
    share: float32 [number]: 0 if the label was not trained on, otherwise n / k,
      if n labels were made at the same time (for a batch, or for all images of
      a client) and k of them were trained on.
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
# The image of an element that is no label.
_PADDING = -1


class LabelRoom(NamedTuple):
  """A fixed number of elements, the first of which are labels.

  Attributes:
    labels: The labels, and padding after them.
    number: int32 scalar, the number of labels.
  """

  labels: GivenLabels
  number: tf.Tensor


# Stands for `GivenLabels` where pseudo-labels are not kept.
NOT_KEPT = ()
KeptLabels = GivenLabels | LabelRoom | tuple[()]


def none() -> GivenLabels:
  """`GivenLabels` of 0 elements and unknown shape, to be extended in a loop."""
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
  """Labels that were made at the same time.

  Args:
    image: int32 [number], indices of images.
    label: int32 [number], pseudo-labels.
    is_trained_on: bool [number], whether a label is trained on.
    is_real: bool [number], false for padding, which comes last; None without.

  Returns:
    The labels. Padding has image -1, until `drop_padding` drops it.
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
  """Appends labels; `NOT_KEPT` if the earlier ones are not kept."""
  if before == NOT_KEPT:
    return NOT_KEPT
  if isinstance(before, LabelRoom):
    return _write(before, added)
  return GivenLabels(
    *(tf.concat(pair, axis=0) for pair in zip(before, added, strict=True))
  )


def make_room(number: tf.Tensor) -> LabelRoom:
  """Empty room for labels and padding; `number` is an int32 scalar."""
  return LabelRoom(
    GivenLabels(
      tf.fill([number], _PADDING),
      tf.zeros([number], tf.int32),
      tf.zeros([number], tf.float32),
    ),
    tf.constant(0),
  )


def drop_padding(labels: KeptLabels) -> KeptLabels:
  """Drops padding."""
  if isinstance(labels, LabelRoom):
    labels = labels.labels
  if labels == NOT_KEPT:
    return NOT_KEPT
  is_real = labels.image > _PADDING
  return tf.nest.map_structure(
    lambda array: tf.boolean_mask(array, is_real), labels
  )


def reject(labels: KeptLabels, is_rejected: tf.Tensor) -> KeptLabels:
  """Replaces the labels by padding if `is_rejected`, a bool scalar."""
  if labels == NOT_KEPT:
    return NOT_KEPT
  if isinstance(labels, LabelRoom):
    labels = labels.labels
  return labels._replace(image=tf.where(is_rejected, _PADDING, labels.image))


def _write(room: LabelRoom, added: GivenLabels) -> LabelRoom:
  """Writes labels after the others; later calls overwrite their padding."""
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
