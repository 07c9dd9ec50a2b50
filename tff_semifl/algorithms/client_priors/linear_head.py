# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Converts a linear model to a classifier of raw feature vectors, and back."""

import math

import tensorflow as tf

from tff_semifl.data import pipelines
from tff_semifl.models import functional

# Far above means, so that slopes survive rounding; a power of two.
_LARGE = 2.0**60


class LinearHead:
  """Converts weights between standardized and raw features."""

  def __init__(self, classifier: functional.ImageClassifier):
    """Finds the mean and scale by which a linear model standardizes.

    Raises a ValueError for a model with other weights.
    """
    shape = classifier.image_shape
    self.num_features = math.prod(shape)
    self.num_classes = classifier.num_classes
    expected = [(self.num_features, self.num_classes), (self.num_classes,)]
    found = [each.shape for each in classifier.initial_weights.trainable]
    if found != expected or classifier.features is None:
      raise ValueError(
        f'the model has weights of shapes {found}; a linear one has {expected}'
      )
    # Standardization is affine in each feature: it is known from two points, of
    # which one is so large that the difference is exact in float32.
    at_0, at_large = (
      classifier.features.infer(
        classifier.initial_weights, tf.fill([1, *shape], value)
      )[0]
      for value in (0.0, _LARGE)
    )
    slope = (tf.cast(at_large, tf.float64) - tf.cast(at_0, tf.float64)) / _LARGE
    self._scale = (1 / slope).numpy()
    self._mean = (-tf.cast(at_0, tf.float64) / slope).numpy()

  def flatten(self, examples: tf.Tensor) -> tf.Tensor:
    """The features of a batch, float32 [examples, features]."""
    return tf.reshape(tf.cast(examples, tf.float32), [-1, self.num_features])

  def read(self, dataset: tf.data.Dataset) -> tf.Tensor:
    """The features of a client's data, float32 [examples, features]."""
    return self.flatten(pipelines.concatenate_chunks(dataset)['image'])

  def read_labels(
    self, dataset: tf.data.Dataset
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Features, float32, and one-hot classes, float64, of the server's data."""
    labeled = pipelines.concatenate_chunks(dataset)
    targets = tf.one_hot(labeled['label'], self.num_classes, dtype=tf.float64)
    return self.flatten(labeled['image']), targets

  def to_weights(self, raw: tf.Tensor) -> functional.ModelWeights:
    """The model's weights with the logits of weights for raw features.

    `raw` is float64 [features + 1, classes], with the bias in the last row.
    """
    kernel = raw[:-1] * self._scale[:, tf.newaxis]
    bias = raw[-1] + tf.linalg.matvec(raw[:-1], self._mean, transpose_a=True)
    return functional.ModelWeights(
      (tf.cast(kernel, tf.float32), tf.cast(bias, tf.float32)), ()
    )
