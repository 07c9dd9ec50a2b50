# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Training in one place in NumPy, for a small model.

The model is linear, after normalizing four pixels by the statistics of their
batch, so that results depend on which images form a batch. A method's test
implements its loss for `Step`. This module implements the rest: the images of a
step, Nesterov momentum, weight decay of kernels, the learning rate, and the
moving average.
"""

from collections.abc import Callable, Mapping
import functools
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import small_systems
from tff_semifl.core import federated_process
from tff_semifl.experiment import system_registry
from tff_semifl.models import functional
from tff_semifl.models import static_batch_norm
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds

SEED = 5
LABELS = np.array([0, 1, 2, 1, 0, -1, -1, -1, -1, -1, -1], np.int32)
IMAGES = linear_reference.create_images(len(LABELS), seed=1)
STEPS_PER_ROUND = 3
TOTAL_STEPS = 6
BATCH_SIZE = 4
LEARNING_RATE = 0.2
DECAY = 0.1
AVERAGE_DECAY = 0.7
SETTINGS = {
  'steps_per_round': STEPS_PER_ROUND,
  'total_steps': TOTAL_STEPS,
  'batch_size': BATCH_SIZE,
  'learning_rate': LEARNING_RATE,
  'momentum': 0.9,
  'weight_decay': DECAY,
  'average_decay': AVERAGE_DECAY,
}


class Trained(NamedTuple):
  """The trained weights, the averaged weights, and the loss of each step."""

  student: list[np.ndarray]
  average: list[np.ndarray]
  losses: list[float]


@functools.cache
def create_classifier() -> functional.ImageClassifier:
  """Creates the model: kernel and bias on normalized pixels."""
  normal = tf.keras.initializers.RandomNormal(stddev=1.0, seed=3)
  model = tf.keras.Sequential(
    [
      tf.keras.Input(linear_reference.IMAGE_SHAPE),
      tf.keras.layers.Flatten(),
      static_batch_norm.StaticBatchNormalization(),
      tf.keras.layers.Dense(
        linear_reference.NUM_CLASSES, kernel_initializer=normal
      ),
    ]
  )
  return functional.from_keras(model)


class Step:
  """A step in float64, by the formulas of the papers.

  `x` are weakly augmented labeled images, [batch, 4], and `y` their labels,
  [batch, classes]; `progress` is the fraction of all steps before this step.
  """

  def __init__(self, num: int, student, average, num_unlabeled: int):
    """Draws the images of step `num`."""
    self.num = num
    self._student = student
    self._average = average
    labeled = np.flatnonzero(LABELS >= 0)
    self._rows = labeled[
      _next_rows(len(labeled), num * BATCH_SIZE, BATCH_SIZE, 'SERVER_ORDER')
    ]
    self._unlabeled = _next_rows(
      len(IMAGES), num * num_unlabeled, num_unlabeled, 'FIX_ORDER'
    )
    self.x = self._view(
      linear_reference.shifted, IMAGES[self._rows], 'SERVER_AUGMENTATION'
    )
    self.y = np.eye(linear_reference.NUM_CLASSES)[LABELS[self._rows]]
    self.progress = num / TOTAL_STEPS
    self.head = student[4:]

  def seed(self, purpose: str, *keys: int) -> tf.Tensor:
    """The seed of a draw of this step."""
    return random_seeds.stateless_seed(
      SEED, random_seeds.Purpose[purpose], self.num, *keys
    )

  def weak(self, key: int = 0) -> np.ndarray:
    """The weakly augmented unlabeled images."""
    images = IMAGES[self._unlabeled]
    return self._view(linear_reference.shifted, images, 'WEAK_VIEW', key)

  def strong(self, key: int = 0) -> np.ndarray:
    """The strongly augmented unlabeled images."""
    images = IMAGES[self._unlabeled]
    return self._view(linear_reference.inverted, images, 'STRONG_VIEW', key)

  def f(self, views) -> tf.Tensor:
    """The student's logits of a batch."""
    return _logits(self._student, views)

  def features(self, views) -> tf.Tensor:
    """The input of the student's last layer."""
    return _normalize(self._student, views)

  def teacher(self, views) -> tf.Tensor:
    """The averaged model's logits of a batch."""
    return tf.stop_gradient(_logits(self._average, views))

  def _view(self, view, images, *seed) -> np.ndarray:
    views = view(tf.constant(images), self.seed(*seed)).numpy()
    return views.reshape(len(views), -1).astype(np.float64)


def train(
  loss_fn: Callable[[Step], tf.Tensor],
  *,
  ratio: int = 1,
  num_steps: int = TOTAL_STEPS,
  head: tuple[np.ndarray, ...] = (),
) -> Trained:
  """Trains by the loss of each step, in TensorFlow.

  `ratio` is the number of unlabeled images for each labeled image; `head` are
  further trained weights, kernels and biases in turn.
  """
  initial = create_classifier().initial_weights.trainable
  weights = [np.asarray(w, np.float64) for w in (*initial, *head)]
  average = weights[:4]
  momentum = [np.zeros_like(w) for w in weights]
  losses = []
  for num in range(num_steps):
    student = [tf.constant(w) for w in weights]
    with tf.GradientTape() as tape:
      tape.watch(student)
      loss = loss_fn(Step(num, student, average, ratio * BATCH_SIZE))
    losses.append(loss.numpy())
    rate = LEARNING_RATE * np.cos(7 * np.pi / 16 * num / TOTAL_STEPS)
    for i, gradient in enumerate(tape.gradient(loss, student)):
      gradient = gradient.numpy() + (DECAY * weights[i] if i in (2, 4) else 0)
      momentum[i] = 0.9 * momentum[i] + gradient
      weights[i] = weights[i] - rate * (gradient + 0.9 * momentum[i])
    average = [
      AVERAGE_DECAY * old + (1 - AVERAGE_DECAY) * new
      for old, new in zip(average, weights, strict=False)
    ]
  return Trained(weights, average, losses)


def train_system(
  system_name: str, changes: Mapping[str, Any], *, num_rounds: int = 2
) -> Trained:
  """Trains a system of the registry; losses are means over rounds."""
  system = small_systems.create(system_name, {**SETTINGS, **changes})
  classifier = create_classifier()
  work = system.build_server_work(
    small_systems.create_ingredients(
      classifier=classifier,
      weak_augmentation=linear_reference.shifted,
      strong_augmentation=linear_reference.inverted,
      seed=SEED,
    )
  )
  state, weights = work.initialize(), classifier.initial_weights
  losses = []
  for round_num in range(num_rounds):
    state, weights, metrics = work.train(
      state,
      weights,
      federated_process.RoundContext(
        tf.constant(SEED), tf.constant(round_num), tf.zeros([])
      ),
      linear_reference.labeled_dataset(IMAGES, LABELS),
    )
    losses.append(metrics['loss'].numpy())
  return Trained(state.trained, weights.trainable, losses)


def assert_equal(found: Trained, expected: Trained) -> None:
  """Asserts that a system's training equals the reference, step by step."""
  means = np.reshape(expected.losses, [-1, STEPS_PER_ROUND]).mean(axis=1)
  np.testing.assert_allclose(found.losses, means, rtol=1e-4)
  for ours, others in (
    (found.student, expected.student),
    (found.average, expected.average),
  ):
    for array, other in zip(ours, others, strict=True):
      np.testing.assert_allclose(array, other, rtol=1e-3, atol=1e-4)


def assert_system_equals(
  system_name: str,
  changes: Mapping[str, Any],
  loss_fn: Callable[[Step], tf.Tensor],
  *,
  ratio: int = 1,
  head: tuple[np.ndarray, ...] = (),
) -> None:
  """Asserts that a system of the registry trains by a loss; see `train`."""
  default = system_registry.SYSTEMS[system_name].steps.unlabeled_ratio
  assert ratio != default, 'the default would do as well'
  assert_equal(
    train_system(system_name, {**changes, 'unlabeled_ratio': ratio}),
    train(loss_fn, ratio=ratio, head=head),
  )


def cross_entropy(labels, logits) -> tf.Tensor:
  """H(labels, softmax of logits) of each row."""
  return -tf.reduce_sum(labels * tf.nn.log_softmax(logits), axis=1)


def _normalize(weights, views) -> tf.Tensor:
  gamma, beta, *_ = weights
  mean = tf.reduce_mean(views, axis=0)
  variance = tf.reduce_mean((views - mean) ** 2, axis=0)
  epsilon = static_batch_norm.EPSILON
  return gamma * (views - mean) / tf.sqrt(variance + epsilon) + beta


def _logits(weights, views) -> tf.Tensor:
  return _normalize(weights, views) @ weights[2] + weights[3]


def _next_rows(num_images, first, number, purpose) -> np.ndarray:
  """Takes indices from an endless sequence of shuffled epochs."""
  seed = random_seeds.stateless_seed(SEED, random_seeds.Purpose[purpose])
  return np.array(
    [
      _order(num_images, seed, place // num_images)[place % num_images]
      for place in range(first, first + number)
    ]
  )


def _order(num_images, seed, epoch) -> np.ndarray:
  return tf.random.experimental.stateless_shuffle(
    tf.range(num_images), random_draws.fold_in(seed, epoch)
  ).numpy()
