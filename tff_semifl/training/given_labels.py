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

# The image of an element that is no label.
PADDING = -1


class GivenLabels(NamedTuple):
  """Pseudo-labels, an element for each time that an image got one.

  Attributes:
    image: int32 [number], the image's index among those of the client; -1 for
      padding.
    label: int32 [number], the pseudo-label.
    share: float32 [number]: 0 if the label was not trained on, otherwise n / k,
      if n labels were made at the same time (for a batch, or for all images of
      a client) and k of them were trained on.
  """

  image: tf.Tensor
  label: tf.Tensor
  share: tf.Tensor

  def extend(self, added: 'GivenLabels') -> 'GivenLabels':
    """These labels and later ones."""
    return GivenLabels(
      *(tf.concat(pair, axis=0) for pair in zip(self, added, strict=True))
    )

  def keep_if(self, is_kept: tf.Tensor) -> 'GivenLabels':
    """The labels without padding if `is_kept`, a bool scalar, else none."""
    is_label = is_kept & (self.image > PADDING)
    return GivenLabels(*(tf.boolean_mask(array, is_label) for array in self))


GIVEN_LABELS_TYPE = tff.types.to_type(
  GivenLabels(
    *(
      tff.TensorType(dtype, (None,))
      for dtype in (np.int32, np.int32, np.float32)
    )
  )
)


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
  is_real: tf.Tensor | bool = True,
) -> GivenLabels:
  """Labels that were made at the same time.

  All are [number]; `is_real` is false for padding, which comes last.
  """
  number = tf.cast(tf.shape(label)[0], tf.float32)
  if is_real is not True:
    image = tf.where(is_real, image, PADDING)
    is_trained_on &= is_real
    number = tf.math.count_nonzero(is_real, dtype=tf.float32)
  is_trained_on = tf.cast(is_trained_on, tf.float32)
  share = tf.math.divide_no_nan(number, tf.reduce_sum(is_trained_on))
  return GivenLabels(image, label, share * is_trained_on)
