# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A small WideResNet, and its training written out a second time in float64.

The second one is made of B.1, of the optimizer's formula and of the weights,
with TensorFlow's convolution and its gradients; it shares no code with the
first.
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
# Two groups of a block each: one with an identity, one that projects.
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
    # Scales and offsets other than 1 and 0, or decay and gradient of one might
    # be taken for the other's.
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
  """Each channel by mean and biased variance of the batch."""
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
    """Returns float64 [num_images, classes], in training mode."""
    return forward(self._names, self.weights, images).numpy()

  def step(self, *terms: tuple[float, np.ndarray, np.ndarray]) -> float:
    """Takes a step on a sum of losses, and returns that sum."""
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
  """The network of B.1: stem, blocks, normalization, mean, classifier."""
  by_name = dict(zip(names, weights, strict=True))

  def number(name: str) -> int:
    suffix = name.partition('/')[0].rpartition('_')[2]
    return int(suffix) if suffix.isdigit() else 0

  # In the order of the layers' creation.
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
    # A projection takes the activated input, the identity the raw one.
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
  """Returns the difference of weights, relative to the training's change."""

  def length(arrays, others) -> float:
    return np.sqrt(
      sum(
        np.sum((np.asarray(a, np.float64) - b) ** 2)
        for a, b in zip(arrays, others, strict=True)
      )
    )

  return length(found, expected) / length(expected, before)
