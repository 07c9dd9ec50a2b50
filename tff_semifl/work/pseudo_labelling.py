# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""How a client labels its images with the model it received (A.6)."""

import tensorflow as tf

from tff_semifl import pseudo_labels
from tff_semifl import random_seeds
from tff_semifl.augment import augmentation
from tff_semifl.models import functional
from tff_semifl.work import round_context

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
) -> pseudo_labels.PseudoLabels:
  """Labels each image once, by one weak view of it, in inference mode.

  Args:
    classifier: The model.
    weights: Weights as received, with batch normalisation statistics.
    images: uint8 [num_images, height, width, channels], possibly none.
    context: The round.
    client_id: int32 scalar. Together with the round it decides the views, so
      that the same call elsewhere gives the same labels.
    weak_augmentation: Makes the views.
  """
  seed = random_seeds.stateless_seed(
    context.seed,
    random_seeds.Purpose.PSEUDO_LABEL_VIEW,
    context.round_num,
    client_id,
  )
  views = weak_augmentation(images, seed)
  return pseudo_labels.from_logits(
    logits_in_batches(classifier, weights, views)
  )


def logits_in_batches(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  images: tf.Tensor,
) -> tf.Tensor:
  """Returns float32 [num_images, classes], in inference mode."""
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
