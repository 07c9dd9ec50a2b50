# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of ReMixMatch in one place, against its formula (F.8)."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import mixed_reference
from tests import pooled_reference
from tests import small_systems
from tff_semifl.baselines.one_place import remixmatch
from tff_semifl.models import functional

_TEMPERATURE = 0.7
_BATCHES = 3
_SIZE = 2


class _Formula:
  """The loss, which remembers predictions."""

  def __init__(self):
    self.recent = [np.full(3, 1 / 3)] * _BATCHES
    # Class shares of the five labels.
    self.wanted = np.array([2, 2, 1]) / 5

  def loss(self, step):
    weak, strong = step.weak(), [step.strong(0), step.strong(1)]
    probabilities = tf.nn.softmax(step.f(weak)).numpy()
    ratio = (1e-6 + self.wanted) / (1e-6 + np.mean(self.recent, axis=0))
    # Normalizing before the power gives the same guess.
    guess = (probabilities * ratio) ** (1 / _TEMPERATURE)
    guess /= guess.sum(axis=1, keepdims=True)
    self.recent = [*self.recent[1:], probabilities.mean(axis=0)]
    images, labels = mixed_reference.mix(
      step,
      np.concatenate([step.x, weak, *strong]),
      np.concatenate([step.y, guess, guess, guess]),
      concentration=0.75,
    )
    logits = mixed_reference.predict(step, images)
    num = pooled_reference.BATCH_SIZE
    ramp = min(step.num / 4, 1)
    return (
      tf.reduce_mean(pooled_reference.cross_entropy(labels[:num], logits[:num]))
      + 1.5
      * ramp
      * tf.reduce_mean(
        pooled_reference.cross_entropy(labels[num:], logits[num:])
      )
      + 0.5
      * ramp
      * tf.reduce_mean(pooled_reference.cross_entropy(guess, step.f(strong[0])))
      + 0.25 * self._rotation_loss(step, strong[0])
    )

  def _rotation_loss(self, step, views):
    rotated, turns = [], []
    for num_turns in range(4):
      for view in views[num_turns::4]:
        image = np.rot90(view.reshape(_SIZE, _SIZE), num_turns)
        rotated.append(image.ravel())
        turns.append(np.eye(4)[num_turns])
    kernel, bias = step.head
    logits = step.features(np.array(rotated)) @ kernel + bias
    return tf.reduce_mean(
      pooled_reference.cross_entropy(np.array(turns), logits)
    )


class ReMixMatchTest(absltest.TestCase):
  def test_equals_the_formula(self):
    changes = {
      'guess_temperature': _TEMPERATURE,
      'num_strong_augmentations': 2,
      'aligned_batches': _BATCHES,
      'rotation_loss_weight': 0.25,
      'ramp_up_steps': 4,
    }
    head = small_systems.create('remixmatch').method.create_head(
      pooled_reference.create_classifier(), pooled_reference.SEED
    )
    self.assertEqual([part.shape for part in head], [(4, 4), (4,)])
    self.assertGreater(np.std(head[0]), 0.1)
    pooled_reference.assert_system_equals(
      'remixmatch', changes, _Formula().loss, ratio=2, head=head
    )

  def _create_head(self, *layers):
    model = tf.keras.Sequential(layers)
    return small_systems.create('remixmatch').method.create_head(
      functional.from_keras(model), seed=0
    )

  def test_models_without_features(self):
    with self.assertRaisesRegex(ValueError, 'last layer, which must be dense'):
      self._create_head(
        tf.keras.Input(linear_reference.IMAGE_SHAPE),
        tf.keras.layers.Conv2D(3, 2),
        tf.keras.layers.Flatten(),
      )

  def test_images_that_are_not_square(self):
    with self.assertRaisesRegex(ValueError, 'found 2 by 3 pixels'):
      self._create_head(
        tf.keras.Input([2, 3, 1]),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(3),
      )


class RotateTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(3, 4, 10)
  def test_says_how_often_each_was_turned(self, num_images):
    images = np.random.default_rng(0).uniform(size=(num_images, 5, 5, 2))
    turned, num_turns = remixmatch.rotate(tf.constant(images))
    self.assertEqual(num_turns.dtype, tf.int32)
    # Image 0, 4, 8, ... is not turned, 1, 5, 9, ... once, and so on.
    order = sorted(range(num_images), key=lambda i: (i % 4, i))
    self.assertAllEqual(num_turns, [i % 4 for i in order])
    for found, i in zip(turned, order, strict=True):
      self.assertAllEqual(found, np.rot90(images[i], i % 4))

  def test_images_that_are_not_square(self):
    with self.assertRaisesRegex(ValueError, r'not square: \(4, 6\)'):
      remixmatch.rotate(tf.zeros([4, 4, 6, 1]))


if __name__ == '__main__':
  absltest.main()
