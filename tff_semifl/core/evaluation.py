# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Accuracy and loss of a model on test images."""

import collections
from collections.abc import Mapping
import functools

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import losses
from tff_semifl.core import rows
from tff_semifl.core import training_loop
from tff_semifl.data import pipelines
from tff_semifl.models import functional


def build_evaluation(
  classifier: functional.ImageClassifier, *, keeps_logits: bool = False
) -> tff.Computation:
  """Builds the evaluation of a model in inference mode.

  Returns:
    A computation, with W for model weights and L for chunks of
    `pipelines.labeled_type`:

        (<W@SERVER, L*@SERVER> -> <accuracy=float32, loss=float32>@SERVER)

    Accuracy and loss are means over all images, and 0 without images. With
    `keeps_logits`, a third result is `logits`, float32 [images, classes], in
    the order of the images.
  """
  data_type = pipelines.labeled_type(classifier.image_shape)

  @tff.tensorflow.computation(classifier.weights_type, data_type)
  def evaluate(weights: functional.ModelWeights, dataset: tf.data.Dataset):
    initial = [0.0, 0.0, 0.0]
    if keeps_logits:
      initial.append(rows.no_rows([classifier.num_classes], tf.float32))
    num_correct, loss, count, *kept = pipelines.fold(
      dataset,
      tuple(initial),
      functools.partial(_add_chunk, classifier, weights),
    )
    return collections.OrderedDict(
      accuracy=tf.math.divide_no_nan(num_correct, count),
      loss=tf.math.divide_no_nan(loss, count),
      **dict(zip(['logits'], kept, strict=False)),
    )

  @tff.federated_computation(
    tff.FederatedType(classifier.weights_type, tff.SERVER),
    tff.FederatedType(data_type, tff.SERVER),
  )
  def evaluation(weights, dataset):
    return tff.federated_map(evaluate, (weights, dataset))

  return evaluation


def _add_chunk(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  sums: tuple[tf.Tensor, ...],
  chunk: Mapping[str, tf.Tensor],
) -> tuple[tf.Tensor, ...]:
  num_correct, loss, count, *kept = sums
  logits = classifier.logits(weights, chunk['image'])
  size = tf.cast(tf.shape(logits)[0], tf.float32)
  mean_loss = losses.cross_entropy(logits, chunk['label'])
  return (
    num_correct + training_loop.count_correct(logits, chunk['label']),
    loss + tf.math.multiply_no_nan(mean_loss, size),
    count + size,
    *(tf.concat([before, logits], axis=0) for before in kept),
  )
