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
  images: tf.Tensor,
  seed: tf.Tensor | None = None,
  num_real: tf.Tensor | None = None,
) -> tf.Tensor:
  """The logits of a batch in training mode, float32 [batch, classes].

  `images` are uint8 or float32 [batch, height, width, channels], in 0..255;
  `seed`, int32 [2], is a new one for each pass, None only without dropout;
  `num_real` is that of `rows.Rows`.
  """
  return classifier.train_logits(
    weights, tf.cast(images, tf.float32), seed, num_real
  )


def label_logits(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  images: tf.Tensor,
  num_real: tf.Tensor | None = None,
) -> tf.Tensor:
  """The logits that label a batch, float32 [batch, classes].

  The model normalizes as in training, but without dropout. `images` and
  `num_real` are as in `train_logits`.
  """
  return classifier.batch_logits(
    weights, tf.cast(images, tf.float32), num_real=num_real
  )


def mask_absent(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
  """Replaces the logits of classes without images by 0, without gradient.

  `logits` are float32 [batch, classes], `labels` int32 [images], of all images
  of the participant (Diao, Ding, Tarokh. HeteroFL: Computation and
  communication efficient federated learning for heterogeneous clients. ICLR
  2021).
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
  """The mean cross-entropy and the number of correct predictions.

  Arguments are those of `losses.cross_entropy`; predictions are made without
  the offset, and count where `is_counted`, bool [batch].
  """
  return training_loop.BatchOutput(
    losses.cross_entropy(logits, labels, weights, offset=offset),
    training_loop.count_correct(logits, labels, is_counted),
  )


def cross_entropy_gradient(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  images: tf.Tensor,
  labels: tf.Tensor,
  seed: tf.Tensor,
) -> tuple[tuple[tf.Tensor, ...], training_loop.BatchOutput]:
  """The gradient of the mean cross-entropy, and the output of `cross_entropy`.

  `images` and `seed` are as in `train_logits`; labels are int32 [batch].
  """
  with tf.GradientTape() as tape:
    tape.watch(weights.trainable)
    logits = train_logits(classifier, weights, images, seed)
    output = cross_entropy(logits, labels)
  return tuple(tape.gradient(output.loss, weights.trainable)), output
