# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Selection of images by their pseudo-labels."""

import tensorflow as tf

from tff_semifl.training import given_labels
from tff_semifl.training import pseudo_labels
from tff_semifl.training import rows as rows_lib
from tff_semifl.training import training_loop


def select(
  selected: tf.Tensor,
  labels: pseudo_labels.PseudoLabels,
  examples: rows_lib.Rows,
  indices: tf.Tensor,
) -> training_loop.Selection:
  """Selects the examples to train on.

  Args:
    selected: bool or float32 [number]; see `pseudo_labels.split_selection`.
    labels: Pseudo-labels of the examples, made at the same time.
    examples: The examples, such as augmented images.
    indices: int32 [number], the images that the examples are made from.

  Returns:
    The rows (examples, labels, weights) of the selected examples, in the same
    order, and the given labels of all examples. Weights are () or (float32
    [selected],).
  """
  is_selected, weights = pseudo_labels.split_selection(selected)
  chosen = examples.replace((examples.examples, labels.labels, weights))
  return training_loop.Selection(
    chosen.keep(is_selected),
    given_labels.made_at_once(
      indices,
      labels.labels,
      is_selected,
      None if examples.num_real is None else examples.is_real,
    ),
  )
