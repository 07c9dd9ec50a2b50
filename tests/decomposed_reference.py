# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A classifier with a two-part kernel, and its training in NumPy.

The model is a convolution that covers the image, then a dense layer. Both are
linear, and gradients are written out by hand.
"""

import functools

import numpy as np
import tensorflow as tf

from tests import linear_reference
from tff_semifl.models import fedmatch_networks
from tff_semifl.models import functional

_NUM_FILTERS = 4
# Bright images, so that gradients are clipped.
_SCALE = 4 / 255


@functools.cache
def create_classifier() -> functional.ImageClassifier:
  """Creates the classifier: logits = pixels @ (sigma + phi) @ kernel + bias."""
  model = tf.keras.Sequential(
    [
      tf.keras.Input(linear_reference.IMAGE_SHAPE),
      tf.keras.layers.Rescaling(_SCALE),
      fedmatch_networks.DecomposedConvolution(_NUM_FILTERS, 2, 1, 0),
      tf.keras.layers.Flatten(),
      tf.keras.layers.Dense(
        linear_reference.NUM_CLASSES,
        kernel_initializer=tf.keras.initializers.RandomNormal(
          stddev=0.5, seed=0
        ),
      ),
    ]
  )
  return functional.from_keras(model)


def pixels(images: np.ndarray) -> np.ndarray:
  """The model's input, float64 [num_images, pixels]."""
  return images.reshape(len(images), -1).astype(np.float64) * _SCALE


def hidden(weights, images: np.ndarray) -> np.ndarray:
  """The convolution's output, float64 [num_images, filters]."""
  kernel = weights[0] + weights[1]
  return pixels(images) @ kernel.reshape(-1, _NUM_FILTERS)


def logits(weights, images: np.ndarray) -> np.ndarray:
  """Logits, float64 [num_images, classes]."""
  return hidden(weights, images) @ weights[2] + weights[3]


class NumpySGD:
  """SGD: clips by all gradients; decay and Nesterov are for some weights."""

  def __init__(
    self, weights, learning_rate: float, *, trained: set[int], masks: bool
  ):
    """Starts with momentum of zeros."""
    self.weights = [np.asarray(array, np.float64) for array in weights]
    self.accumulator = [np.zeros_like(array) for array in self.weights]
    self.learning_rate = learning_rate
    self.num_clipped = 0
    self._trained = trained
    self._masks = masks

  def logits(self, images: np.ndarray) -> np.ndarray:
    """Logits, float64 [num_images, classes]."""
    return logits(self.weights, images)

  def step(self, term: tuple[float, np.ndarray, np.ndarray]) -> float:
    """Takes a step, and returns the mean cross-entropy before the step."""
    _, images, labels = term
    probabilities = linear_reference.softmax(self.logits(images))
    targets = np.eye(linear_reference.NUM_CLASSES)[labels]
    # d(mean cross-entropy)/d(logits) = (p - targets) / batch.
    errors = (probabilities - targets) / len(labels)
    of_kernel = pixels(images).T @ errors @ self.weights[2].T
    of_kernel = of_kernel.reshape(self.weights[0].shape)
    # The derivatives by sigma and by phi are equal.
    of_dense = hidden(self.weights, images).T @ errors
    gradients = [of_kernel, of_kernel, of_dense, errors.sum(axis=0)]
    norm = np.sqrt(sum(np.sum(g**2) for g in gradients))
    self.num_clipped += norm > 1
    for index in self._trained:
      gradient = gradients[index] * min(1.0, 1.0 / (norm + 1e-6))
      if self._masks and index < 2:
        gradient = gradient * np.array([1, 1, 0, 0])
      gradient = gradient + 5e-4 * self.weights[index]
      self.accumulator[index] = 0.9 * self.accumulator[index] + gradient
      self.weights[index] = self.weights[index] - self.learning_rate * (
        gradient + 0.9 * self.accumulator[index]
      )
    return -np.mean(np.sum(targets * np.log(probabilities), axis=1))
