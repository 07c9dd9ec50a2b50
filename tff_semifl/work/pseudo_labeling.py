# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pseudo-labels of a client's images, and selection by them (A.6)."""

import tensorflow as tf

from tff_semifl import pseudo_labels
from tff_semifl import random_seeds
from tff_semifl.augment import augmentation
from tff_semifl.models import functional
from tff_semifl.work import given_labels
from tff_semifl.work import round_context
from tff_semifl.work import rows as rows_lib
from tff_semifl.work import training_loop

# Inference has no batch statistics: the size changes memory and speed alone.
INFERENCE_BATCH_SIZE = 250


def label_images(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  images: rows_lib.Rows,
  *,
  node: round_context.Node,
  weak_augmentation: augmentation.Augmentation,
  label_fn: pseudo_labels.LabelFn = pseudo_labels.most_probable,
) -> pseudo_labels.PseudoLabels:
  """Labels each image once, by one weak view of it, in inference mode.

  Args:
    classifier: The model.
    weights: The received weights, with batch normalization statistics.
    images: uint8 [num_images, height, width, channels], possibly none.
    node: The client. Together with the round it decides the views, so that the
      same call elsewhere gives the same labels.
    weak_augmentation: Makes the views.
    label_fn: Makes labels of the logits of all views.

  Returns:
    A pseudo-label for each image.
  """
  seed = node.seed(random_seeds.Purpose.PSEUDO_LABEL_VIEW)
  views = images.replace(weak_augmentation(images.examples, seed))
  logits = views.map_batches(
    lambda batch: classifier.logits(weights, tf.cast(batch, tf.float32)),
    width=classifier.num_classes,
    size=INFERENCE_BATCH_SIZE,
  )
  return label_fn(node.context.guidance, logits)


def select(
  selected: tf.Tensor,
  labels: pseudo_labels.PseudoLabels,
  examples: rows_lib.Rows,
  indices: tf.Tensor,
) -> training_loop.Selection:
  """Keeps those examples that are selected for training.

  Args:
    selected: bool or float32 [number], the result of a
      `pseudo_labels.SelectionFn`.
    labels: Pseudo-labels of the examples, which were made at the same time.
    examples: The examples, such as views.
    indices: int32 [number], the images that the examples are made from.

  Returns:
    The batch (examples, labels, weights) of the selected examples, in the order
    in which they came, and the labels that all of them were given. Weights are
    () or (float32 [selected],).
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
