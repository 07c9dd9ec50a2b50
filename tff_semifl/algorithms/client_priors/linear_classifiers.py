# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Linear classifiers of feature vectors.

Many multinomial logistic regressions are fitted to the same examples at once.
Weights of regressions are float64 [regressions, features + 1, classes]. The
last row is the bias, which is not penalized. `example_weights`, [regressions,
examples], weight the examples in each regression. `padded` is from `with_ones`.

References:
  Boehning. Multinomial logistic regression algorithm. Annals of the Institute
  of Statistical Mathematics, 1992: a bound on the Hessian that does not depend
  on the weights.
"""

import math

import tensorflow as tf

from tff_semifl.data import pipelines
from tff_semifl.models import functional

_STEPS = 300
# Stands in for a penalty of the bias, so that matrices are invertible.
_PENALTY_OF_BIAS = 1e-6
# A power of two, far above the means of features.
_LARGE = 2.0**60


def with_ones(x: tf.Tensor) -> tf.Tensor:
  """Appends a feature that is 1, for the bias: [n, d] -> [n, d + 1]."""
  return tf.concat([x, tf.ones([tf.shape(x)[0], 1], x.dtype)], axis=1)


def add_to_bias(weights: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
  """Adds biases, [..., classes], to the last row of weights."""
  return tf.concat(
    [weights[..., :-1, :], weights[..., -1:, :] + bias[..., tf.newaxis, :]],
    axis=-2,
  )


def fit(
  x: tf.Tensor,
  targets: tf.Tensor,
  example_weights: tf.Tensor,
  penalties: tf.Tensor,
) -> tf.Tensor:
  """Fits regressions that differ in example weights and in the penalty.

  `targets`, [examples, classes], are class probabilities. `penalties`,
  [regressions], multiply half the squared norm of the result. All are float64.
  """
  padded = with_ones(x)
  inverse = inverse_of_bound(second_moments(padded, example_weights), penalties)
  count = tf.shape(example_weights)[0]
  shape = (count, tf.shape(padded)[1], tf.shape(targets)[1])

  def step(found: tf.Tensor, point: tf.Tensor, momentum: tf.Tensor):
    ascent = gradient(padded, targets, example_weights, point)
    ascent -= penalty_gradient(point, penalties)
    stepped = point + inverse @ ascent
    new_momentum, ratio = next_momentum(momentum)
    return stepped, stepped + ratio * (stepped - found), new_momentum

  zeros = tf.zeros(shape, x.dtype)
  found, _, _ = tf.while_loop(
    lambda *_: True,
    step,
    (zeros, zeros, tf.ones([], x.dtype)),
    maximum_iterations=_STEPS,
  )
  return found


def gradient(
  padded: tf.Tensor,
  targets: tf.Tensor,
  example_weights: tf.Tensor,
  point: tf.Tensor,
) -> tf.Tensor:
  """The gradient of the weighted log-likelihood at the weights `point`."""
  errors = targets - tf.nn.softmax(padded @ point)
  errors *= example_weights[..., tf.newaxis]
  return tf.matmul(padded, errors, transpose_a=True)


def second_moments(padded: tf.Tensor, example_weights: tf.Tensor) -> tf.Tensor:
  """The weighted sums of x x^T, float64 [regressions, d + 1, d + 1]."""
  # One regression at a time, to save memory.
  return tf.map_fn(
    lambda each: tf.matmul(
      padded, each[:, tf.newaxis] * padded, transpose_a=True
    ),
    example_weights,
  )


def next_momentum(momentum: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  """Nesterov's next momentum term, and the factor of the extrapolation."""
  new = 0.5 + tf.sqrt(0.25 + momentum**2)
  return new, (momentum - 1) / new


def inverse_of_bound(second: tf.Tensor, penalties: tf.Tensor) -> tf.Tensor:
  """The inverse of Boehning's bound on the Hessian, from `second_moments`."""
  num_features = tf.shape(second)[-1] - 1
  is_bias = tf.one_hot(num_features, num_features + 1, dtype=second.dtype)
  diagonal = tf.where(
    is_bias > 0,
    tf.constant(_PENALTY_OF_BIAS, second.dtype),
    penalties[..., tf.newaxis],
  )
  return tf.linalg.inv(0.5 * second + tf.linalg.diag(diagonal))


def penalty_gradient(weights: tf.Tensor, penalties: tf.Tensor) -> tf.Tensor:
  """The gradient of penalty / 2 times the squared norm of the weights."""
  return tf.concat(
    [
      penalties[..., tf.newaxis, tf.newaxis] * weights[..., :-1, :],
      tf.zeros_like(weights[..., -1:, :]),
    ],
    axis=-2,
  )


class LinearHead:
  """Flattens examples, and converts raw-feature weights to model weights."""

  def __init__(self, classifier: functional.ImageClassifier):
    """Finds the mean and scale by which the model standardizes features.

    Raises a ValueError if the model is not linear.
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
    # Standardization is affine in each feature, so that its values at two
    # points determine it. The mean is negligible at the second point.
    at_0, at_large = (
      classifier.features.infer(
        classifier.initial_weights, tf.fill([1, *shape], value)
      )[0]
      for value in (0.0, _LARGE)
    )
    slope = tf.cast(at_large, tf.float64) / _LARGE
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
    """Converts `raw`, float64 [features + 1, classes], to model weights."""
    kernel = raw[:-1] * self._scale[:, tf.newaxis]
    bias = raw[-1] + tf.linalg.matvec(raw[:-1], self._mean, transpose_a=True)
    return functional.ModelWeights(
      (tf.cast(kernel, tf.float32), tf.cast(bias, tf.float32)), ()
    )
