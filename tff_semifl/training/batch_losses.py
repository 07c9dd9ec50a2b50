# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Logits of one batch, and their cross-entropy with its gradient."""

import tensorflow as tf

from tff_semifl.models import functional
from tff_semifl.training import losses
from tff_semifl.training import training_loop


def train_logits(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  views: tf.Tensor,
  seed: tf.Tensor | None = None,
  num_real: tf.Tensor | None = None,
) -> tf.Tensor:
  """Returns the logits of a batch of views that is trained on.

  Args:
    classifier: The model.
    weights: The weights in this step.
    views: uint8 or float32 [batch, height, width, channels], in 0..255.
    seed: int32 [2], what dropout draws with, another in each pass of a round;
      None only for models that are known to have none.
    num_real: See `rows.Rows`.

  Returns:
    float32 [batch, classes].
  """
  return classifier.train_logits(
    weights, tf.cast(views, tf.float32), seed, num_real
  )


def label_logits(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  views: tf.Tensor,
  num_real: tf.Tensor | None = None,
) -> tf.Tensor:
  """Returns the logits from which a batch of views gets its pseudo-labels.

  They are normalized as the batch would be in training, but nothing is dropped.

  Args:
    classifier: The model.
    weights: The weights in this step.
    views: uint8 or float32 [batch, height, width, channels], in 0..255.
    num_real: See `rows.Rows`.

  Returns:
    float32 [batch, classes].
  """
  return classifier.batch_logits(
    weights, tf.cast(views, tf.float32), num_real=num_real
  )


def mask_absent(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
  """Replaces the logits of classes without images by 0 (HeteroFL, D53).

  Args:
    logits: float32 [batch, classes].
    labels: int32 [images], of all images of the participant.

  Returns:
    float32 [batch, classes], without a gradient to classes not in `labels`.
  """
  is_present = tf.reduce_any(
    tf.equal(labels[:, tf.newaxis], tf.range(tf.shape(logits)[-1])), axis=0
  )
  return tf.where(is_present, logits, 0.0)


def cross_entropy(
  logits: tf.Tensor,
  labels: tf.Tensor,
  weights: tf.Tensor | None = None,
  *,
  offset: tf.Tensor | None = None,
  is_counted: tf.Tensor | bool = True,
) -> training_loop.BatchOutput:
  """Returns the mean cross-entropy and the number of correct predictions.

  Args:
    logits: float32 [batch, classes].
    labels: int32 [batch].
    weights: See `losses.cross_entropy`.
    offset: See `losses.cross_entropy`. Predictions are made without it.
    is_counted: bool [batch], whether a prediction counts; by default all do.

  Returns:
    A `BatchOutput` in which all examples count.
  """
  return training_loop.BatchOutput(
    losses.cross_entropy(logits, labels, weights, offset=offset),
    training_loop.count_correct(logits, labels, is_counted),
  )


def cross_entropy_gradient(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  views: tf.Tensor,
  labels: tf.Tensor,
  seed: tf.Tensor,
) -> tuple[tuple[tf.Tensor, ...], training_loop.BatchOutput]:
  """Returns the gradient of the mean cross-entropy of a batch.

  Args:
    classifier: The model.
    weights: The weights at which the gradient is taken.
    views: uint8 or float32 [batch, height, width, channels], in 0..255.
    labels: int32 [batch].
    seed: int32 [2], what dropout draws with.

  Returns:
    A tensor for each trainable weight, and the output of `cross_entropy`.
  """
  with tf.GradientTape() as tape:
    tape.watch(weights.trainable)
    logits = train_logits(classifier, weights, views, seed)
    output = cross_entropy(logits, labels)
  return tuple(tape.gradient(output.loss, weights.trainable)), output
