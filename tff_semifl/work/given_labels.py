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
# Stands for `GivenLabels` where they are not asked for.
NOT_KEPT = ()
KeptLabels = GivenLabels | tuple[()]


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
  image: tf.Tensor, label: tf.Tensor, is_trained_on: tf.Tensor
) -> GivenLabels:
  """Returns labels that were made at the same time.

  Args:
    image: int32 [number], the images that have them.
    label: int32 [number], their pseudo-labels.
    is_trained_on: bool [number], whether a label is trained on.

  Returns:
    The labels, with shares that follow from the others made with them.
  """
  is_trained_on = tf.cast(is_trained_on, tf.float32)
  number = tf.cast(tf.shape(label)[0], tf.float32)
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
  return GivenLabels(
    *(tf.concat(pair, axis=0) for pair in zip(before, added, strict=True))
  )
