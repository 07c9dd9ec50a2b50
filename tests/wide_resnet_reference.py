# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A small WideResNet, and its training in float64.

The second network and optimizer are implemented from docs/algorithms, with
TensorFlow's convolution and its gradient, and share no code with the package.
"""

import collections
from collections.abc import Callable, Sequence
import functools

import numpy as np
import tensorflow as tf

from tests import linear_reference
from tff_semifl.models import functional
from tff_semifl.models import wide_resnet

IMAGE_SHAPE = (16, 16, 3)
NUM_CLASSES = 4
_MEAN = (0.5, 0.4, 0.3)
_STANDARD_DEVIATION = (0.2, 0.25, 0.3)
# Two groups of one block: one with an identity, one with a projection.
_STRIDES = (1, 2)


@functools.cache
def create_classifier(seed: int = 0) -> functional.ImageClassifier:
  """Creates a WideResNet of depth 7 with static batch normalization."""
  model = wide_resnet.create_wide_resnet(
    IMAGE_SHAPE,
    NUM_CLASSES,
    depth=7,
    width=1,
    pixel_mean=_MEAN,
    pixel_standard_deviation=_STANDARD_DEVIATION,
    seed=seed,
  )
  generator = np.random.default_rng(seed)
  for weight in model.trainable_weights:
    # With scales of 1 and offsets of 0, decay and gradients of a scale and an
    # offset could be confused.
    if 'gamma' in weight.name:
      weight.assign(generator.uniform(0.5, 1.5, size=weight.shape))
    if 'beta' in weight.name:
      weight.assign(generator.normal(size=weight.shape) / 2)
    # Random, so that outputs differ between images.
    if 'dense' in weight.name:
      weight.assign(generator.normal(size=weight.shape))
  return functional.from_keras(model)


def create_images(num_images: int, seed: int = 0) -> np.ndarray:
  """Creates uint8 [num_images, 16, 16, 3]: patches, each image of one color."""
  generator = np.random.default_rng(seed)
  colors = generator.integers(192, size=(num_images, 1, 1, 3), dtype=np.uint8)
  shades = generator.integers(64, size=(num_images, 4, 4, 3), dtype=np.uint8)
  return (colors + shades).repeat(4, axis=1).repeat(4, axis=2)


def _normalize(x: tf.Tensor) -> tf.Tensor:
  """Normalizes each channel by mean and biased variance of the batch."""
  deviations = x - tf.reduce_mean(x, axis=(0, 1, 2))
  variance = tf.reduce_mean(deviations**2, axis=(0, 1, 2))
  return deviations / tf.sqrt(variance + 1e-5)


def _convolve(x: tf.Tensor, kernel: tf.Tensor, stride: int) -> tf.Tensor:
  border = kernel.shape[0] // 2
  padded = tf.pad(x, [(0, 0), (border, border), (border, border), (0, 0)])
  return tf.nn.conv2d(padded, kernel, stride, 'VALID')


class WideResNetSGD(linear_reference.NumpySGD):
  """Steps of SemiFL's optimizer for a WideResNet."""

  def __init__(
    self,
    classifier: functional.ImageClassifier,
    weights: Sequence[np.ndarray],
    learning_rate: float,
  ):
    super().__init__(weights, learning_rate)
    self._names = classifier.trainable_names

  def logits(self, images: np.ndarray) -> np.ndarray:
    """Logits in training mode, float64 [num_images, classes]."""
    return forward(self._names, self.weights, images).numpy()

  def step(self, *terms: tuple[float, np.ndarray, np.ndarray]) -> float:
    """Takes a step on a sum of losses, and returns the sum."""
    weights = [tf.constant(array) for array in self.weights]
    with tf.GradientTape() as tape:
      tape.watch(weights)
      loss = 0.0
      for factor, images, labels in terms:
        logits = forward(self._names, weights, images)
        chosen = tf.gather(logits, labels, batch_dims=1)
        loss += factor * tf.reduce_mean(
          tf.reduce_logsumexp(logits, axis=1) - chosen
        )
    gradients = [g.numpy() for g in tape.gradient(loss, weights)]
    self.move(gradients)
    return float(loss)


def forward(
  names: Sequence[str],
  weights: Sequence[tf.Tensor],
  images: np.ndarray,
  *,
  strides: Sequence[int] = _STRIDES,
  mean: Sequence[float] = _MEAN,
  deviation: Sequence[float] = _STANDARD_DEVIATION,
  normalize: Callable[[tf.Tensor], tf.Tensor] = _normalize,
) -> tf.Tensor:
  """The forward pass: stem, blocks, normalization, mean, classifier."""
  by_name = dict(zip(names, weights, strict=True))

  def number(name: str) -> int:
    suffix = name.partition('/')[0].rpartition('_')[2]
    return int(suffix) if suffix.isdigit() else 0

  ordered = sorted(names, key=number)
  kernels = [
    by_name[name]
    for name in ordered
    if name.startswith('conv2d') and name.endswith('/kernel:0')
  ]
  threes = collections.deque(each for each in kernels if each.shape[0] == 3)
  ones = collections.deque(each for each in kernels if each.shape[0] == 1)
  norms = collections.deque(
    (by_name[name], by_name[name.replace('gamma', 'beta')])
    for name in ordered
    if 'gamma' in name
  )

  def activate(x: tf.Tensor) -> tf.Tensor:
    gamma, beta = norms.popleft()
    return tf.nn.relu(normalize(x) * gamma + beta)

  x = (images / 255 - np.array(mean)) / np.array(deviation)
  x = _convolve(tf.constant(x, tf.float64), threes.popleft(), 1)
  for stride in strides:
    h = activate(x)
    changes_channels = threes[0].shape[2] != threes[0].shape[3]
    # A projection takes the activated input, an identity the raw input.
    skip = _convolve(h, ones.popleft(), stride) if changes_channels else x
    h = _convolve(h, threes.popleft(), stride)
    x = skip + _convolve(activate(h), threes.popleft(), 1)
  x = tf.reduce_mean(activate(x), axis=(1, 2))
  assert not (threes or ones or norms), 'Some layers were not used.'
  [kernel] = [w for n, w in by_name.items() if 'dense' in n and 'kernel' in n]
  [bias] = [w for n, w in by_name.items() if 'dense' in n and 'bias' in n]
  return x @ kernel + bias


def relative_error(
  found: Sequence[np.ndarray],
  expected: Sequence[np.ndarray],
  before: Sequence[np.ndarray],
) -> float:
  """The difference of weights, relative to the change by training."""

  def length(arrays, others) -> float:
    return np.sqrt(
      sum(
        np.sum((np.asarray(a, np.float64) - b) ** 2)
        for a, b in zip(arrays, others, strict=True)
      )
    )

  return length(found, expected) / length(expected, before)
