# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A linear classifier, and its training in NumPy.

The model is one dense layer on four pixels. `NumpySGD` takes the steps of
SemiFL's optimizer for this model, with gradients written out by hand, so that
whole rounds can be computed independently of TensorFlow.
"""

import collections
import functools
from typing import Any

import numpy as np
import tensorflow as tf

from tff_semifl.models import functional
from tff_semifl.models import keyed_dropout
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds

IMAGE_SHAPE = (2, 2, 1)
NUM_CLASSES = 3


@functools.cache
def create_classifier(
  seed: int = 0, *, dropout_rate: float = 0.0
) -> functional.ImageClassifier:
  """Creates the classifier: logits = pixels @ kernel + bias."""
  dropout = [keyed_dropout.KeyedDropout(dropout_rate, key=0)]
  model = tf.keras.Sequential(
    [
      tf.keras.Input(IMAGE_SHAPE),
      tf.keras.layers.Rescaling(1 / 255),
      tf.keras.layers.Flatten(),
      *(dropout if dropout_rate else ()),
      tf.keras.layers.Dense(
        NUM_CLASSES,
        kernel_initializer=tf.keras.initializers.RandomNormal(seed=seed),
        bias_initializer=tf.keras.initializers.RandomNormal(seed=seed + 1),
      ),
    ]
  )
  return functional.from_keras(model)


def create_images(num_images: int, seed: int = 0) -> np.ndarray:
  """Creates noise, uint8 [num_images, 2, 2, 1]."""
  generator = np.random.default_rng(seed)
  return generator.integers(
    256, size=(num_images, *IMAGE_SHAPE), dtype=np.uint8
  )


def unchanged(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
  """An augmentation that changes nothing."""
  del seed  # Unused.
  return images


def shifted(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
  """An augmentation that depends on the draw, like a weak augmentation."""
  noise = tf.random.stateless_uniform(
    tf.shape(images), seed, maxval=64, dtype=tf.int32
  )
  views = (tf.cast(images, tf.int32) + noise) % 256
  return tf.ensure_shape(tf.cast(views, tf.uint8), images.shape)


def inverted(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
  """Another augmentation than `shifted`, like a strong augmentation."""
  return 255 - shifted(images, seed)


def mirrored(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
  """An augmentation for any dtype that mirrors random images."""
  mirror = tf.random.stateless_uniform([tf.shape(images)[0], 1, 1, 1], seed)
  return tf.where(mirror < 0.5, tf.reverse(images, [2]), images)


def client_dataset(
  client_id: int, images: np.ndarray, labels: np.ndarray | None = None
) -> tf.data.Dataset:
  """A dataset with one chunk of `pipelines.client_type`, or with labels."""
  chunk = collections.OrderedDict(client_id=np.int32(client_id), image=images)
  if labels is not None:
    chunk['label'] = labels.astype(np.int32)
  return tf.data.Dataset.from_tensors(chunk)


def labeled_dataset(images: np.ndarray, labels: np.ndarray) -> tf.data.Dataset:
  """A dataset with one chunk of `pipelines.labeled_type`."""
  return tf.data.Dataset.from_tensors(
    collections.OrderedDict(image=images, label=labels.astype(np.int32))
  )


def order(values: int | np.ndarray, *keys: Any) -> np.ndarray:
  """Shuffles values, or the numbers 0 to `values` - 1, by a seed.

  `keys` are arguments of `random_seeds.stateless_seed`.
  """
  if isinstance(values, int):
    values = tf.range(values)
  return tf.random.experimental.stateless_shuffle(
    values, random_seeds.stateless_seed(*keys)
  ).numpy()


def drop(images: np.ndarray, rate: float, seed: tf.Tensor) -> np.ndarray:
  """Applies dropout to images in place of the layer."""
  if not rate:
    return images
  draws = tf.random.stateless_uniform(
    [len(images), images[0].size], random_draws.fold_in(seed, 0)
  )
  kept = (draws.numpy() >= rate).reshape(images.shape)
  return images * kept / (1 - rate)


def logits(weights, images: np.ndarray) -> np.ndarray:
  """Logits, float64 [num_images, classes]."""
  kernel, bias = (np.asarray(array, np.float64) for array in weights)
  pixels = images.reshape(len(images), -1).astype(np.float64) / 255
  return pixels @ kernel + bias


def softmax(values: np.ndarray) -> np.ndarray:
  """The softmax of each row."""
  powers = np.exp(values - values.max(axis=-1, keepdims=True))
  return powers / powers.sum(axis=-1, keepdims=True)


def assert_is_update(update, received, trained) -> None:
  """Asserts that an update is received minus trained weights."""
  for found, before, after in zip(update, received, trained, strict=True):
    np.testing.assert_allclose(found, before - after, rtol=1e-4, atol=1e-6)


class NumpySGD:
  """SGD with clipping to norm 1, weight decay and Nesterov momentum."""

  def __init__(self, weights, learning_rate: float, accumulator=None):
    """Starts with momentum of zeros, unless `accumulator` is given."""
    self.weights = [np.asarray(array, np.float64) for array in weights]
    self.accumulator = accumulator or [
      np.zeros_like(array) for array in self.weights
    ]
    self.learning_rate = learning_rate

  def logits(self, images: np.ndarray) -> np.ndarray:
    """Logits, float64 [num_images, classes]."""
    return logits(self.weights, images)

  def step(
    self,
    *terms: tuple[float, np.ndarray, np.ndarray],
    offset: np.ndarray | float = 0.0,
  ) -> float:
    """Takes a step on a sum of losses, and returns the sum.

    `terms` are factor, images and labels of each mean cross-entropy. Labels are
    classes, or rows of probabilities. `offset` is added to all logits.
    """
    loss = 0.0
    gradients = [np.zeros_like(array) for array in self.weights]
    for factor, images, labels in terms:
      probabilities = softmax(logits(self.weights, images) + offset)
      targets = labels if labels.ndim == 2 else np.eye(NUM_CLASSES)[labels]
      loss -= factor * np.mean(np.sum(targets * np.log(probabilities), axis=1))
      # d(mean cross-entropy)/d(logits) = (p - targets) / batch.
      errors = (probabilities - targets) / len(labels)
      pixels = images.reshape(len(images), -1).astype(np.float64) / 255
      gradients[0] += factor * pixels.T @ errors
      gradients[1] += factor * errors.sum(axis=0)
    self.move(gradients)
    return loss

  def move(self, gradients) -> None:
    """Takes a step along gradients of all weights."""
    norm = np.sqrt(sum(np.sum(g**2) for g in gradients))
    scale = min(1.0, 1.0 / (norm + 1e-6))
    for index, weight in enumerate(self.weights):
      gradient = gradients[index] * scale + 5e-4 * weight
      buffer = 0.9 * self.accumulator[index] + gradient
      self.accumulator[index] = buffer
      self.weights[index] = weight - self.learning_rate * (
        gradient + 0.9 * buffer
      )
