# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pseudo-labels of a client's images, and selection by them (A.6)."""

from typing import Any

import tensorflow as tf

from tff_semifl import pseudo_labels
from tff_semifl import random_seeds
from tff_semifl.augment import augmentation
from tff_semifl.models import functional
from tff_semifl.work import given_labels
from tff_semifl.work import round_context
from tff_semifl.work import training_loop

# Inference has no batch statistics: the size changes memory and speed alone.
INFERENCE_BATCH_SIZE = 250


def label_images(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  images: tf.Tensor,
  *,
  context: round_context.RoundContext,
  client_id: tf.Tensor,
  weak_augmentation: augmentation.Augmentation,
  label_fn: pseudo_labels.LabelFn = pseudo_labels.most_probable,
) -> pseudo_labels.PseudoLabels:
  """Labels each image once, by one weak view of it, in inference mode.

  Args:
    classifier: The model.
    weights: The received weights, with batch normalization statistics.
    images: uint8 [num_images, height, width, channels], possibly none.
    context: The round.
    client_id: int32 scalar. Together with the round it decides the views, so
      that the same call elsewhere gives the same labels.
    weak_augmentation: Makes the views.
    label_fn: Makes labels of the logits of all views.

  Returns:
    A pseudo-label for each image.
  """
  seed = round_context.Node(context, client_id).seed(
    random_seeds.Purpose.PSEUDO_LABEL_VIEW
  )
  views = weak_augmentation(images, seed)
  return label_fn(
    context.guidance, logits_in_batches(classifier, weights, views)
  )


def logits_in_batches(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  images: tf.Tensor,
) -> tf.Tensor:
  """Returns the logits of any number of images, in inference mode.

  Args:
    classifier: The model.
    weights: Its weights, with batch normalization statistics.
    images: uint8 or float32 [num_images, height, width, channels].

  Returns:
    float32 [num_images, classes].
  """
  num_images = tf.shape(images)[0]

  def predict_batch(start: tf.Tensor, logits: tf.Tensor):
    stop = start + INFERENCE_BATCH_SIZE
    batch = tf.cast(images[start:stop], tf.float32)
    return stop, tf.concat([logits, classifier.logits(weights, batch)], axis=0)

  _, logits = tf.while_loop(
    lambda start, _: start < num_images,
    predict_batch,
    (0, tf.zeros([0, classifier.num_classes], tf.float32)),
    shape_invariants=(
      tf.TensorShape([]),
      tf.TensorShape([None, classifier.num_classes]),
    ),
  )
  return logits


def select(
  selected: tf.Tensor,
  labels: pseudo_labels.PseudoLabels,
  examples: Any,
  indices: tf.Tensor,
) -> training_loop.Selection:
  """Keeps those examples that are selected for training.

  Args:
    selected: bool or float32 [number], the result of a
      `pseudo_labels.SelectionFn`.
    labels: Pseudo-labels of the examples, which were made at the same time.
    examples: A structure of tensors [number, ...], such as views.
    indices: int32 [number], the images that the examples are made from.

  Returns:
    The batch (examples, labels, weights) of the selected examples, in the order
    in which they came, and the labels that all of them were given. Weights are
    () or (float32 [selected],).
  """
  is_selected, weights = pseudo_labels.split_selection(selected)
  rows = tf.where(is_selected)[:, 0]
  return training_loop.Selection(
    tf.nest.map_structure(
      lambda array: tf.gather(array, rows), (examples, labels.labels, weights)
    ),
    given_labels.made_at_once(indices, labels.labels, is_selected),
  )
