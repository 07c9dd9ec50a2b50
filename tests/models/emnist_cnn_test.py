# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the networks for EMNIST: parameter count, and second networks."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.models import functional
from tff_semifl.models import keyed_dropout
from tff_semifl.models import zhang2020_networks
from tff_semifl.randomness import random_draws

_CREATORS = (
  zhang2020_networks.create_emnist_cnn,
  zhang2020_networks.create_reddi_emnist_cnn,
)
_SEED = tf.constant([5, 6])


def _create_model(create, size=28, num_classes=47, **kwargs):
  return create(
    (size, size, 1),
    num_classes,
    pixel_mean=(0.1307,),
    pixel_standard_deviation=(0.3081,),
    **kwargs,
  )


def _convolve(x, kernel, bias):
  """An unpadded convolution."""
  size = x.shape[1] - 2
  return bias + sum(
    x[:, i : i + size, j : j + size] @ kernel[i, j]
    for i in range(3)
    for j in range(3)
  )


def _pool(x):
  batch, size, _, channels = x.shape
  x = x.reshape(batch, size // 2, 2, size // 2, 2, channels)
  return x.max(axis=(2, 4))


def _dropout(x, rate, key, *, noise_shape=None):
  """The layer's own draws, because the test is of the places of dropout."""
  layer = keyed_dropout.KeyedDropout(rate, key=key, noise_shape=noise_shape)
  with random_draws.dropping_by(_SEED):
    mask = layer(tf.ones(x.shape), training=True).numpy()
  return x * mask


def _forward(weights, images, *, is_reddi, training):
  """The forward pass in float64."""

  def relu(x):
    return np.maximum(x, 0)

  def dropout(x, *args, **kwargs):
    return _dropout(x, *args, **kwargs) if training else x

  w = [np.asarray(each, np.float64) for each in weights]
  x = relu(_convolve((images / 255 - 0.1307) / 0.3081, w[0], w[1]))
  x = _convolve(x, w[2], w[3])
  if is_reddi:
    x = dropout(_pool(relu(x)), 0.25, 0)
  else:
    x = relu(dropout(_pool(x), 0.25, 0, noise_shape=(None, 1, 1, None)))
  x = relu(x.reshape(len(x), -1) @ w[4] + w[5])
  if is_reddi:
    x = dropout(x, 0.5, 1)
  return x @ w[6] + w[7]


class EmnistCnnTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.product(create=_CREATORS, training=[False, True])
  def test_equals_a_second_network(self, create, training):
    classifier = functional.from_keras(_create_model(create, 8, 5))
    weights = classifier.initial_weights
    images = np.random.default_rng(0).integers(256, size=(6, 8, 8, 1))
    images = images.astype(np.float32)
    found = (
      classifier.train_logits(weights, images, _SEED)
      if training
      else classifier.logits(weights, images)
    )
    expected = _forward(
      weights.trainable,
      images.astype(np.float64),
      is_reddi=create is _CREATORS[1],
      training=training,
    )
    self.assertAllClose(found, expected, rtol=1e-4, atol=1e-4)

  def test_initial_weights_are_those_of_pytorch(self):
    model = _create_model(_CREATORS[0])
    for index, num_inputs in enumerate((9, 288, 9216, 128)):
      bound = 1 / np.sqrt(num_inputs)
      for array in model.trainable_weights[2 * index : 2 * index + 2]:
        array = array.numpy()
        self.assertLessEqual(np.abs(array).max(), bound * (1 + 1e-6))
        # 5 standard deviations of a uniform variable's square.
        self.assertAllClose(
          array.var(), bound**2 / 3, rtol=5 * np.sqrt(0.8 / array.size), atol=0
        )
    other = _create_model(_CREATORS[0], seed=1)
    self.assertNotAllClose(
      model.trainable_weights[0], other.trainable_weights[0]
    )
