# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the losses of methods in one place, against their formulas."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import fix_mix_reference
from tests import linear_reference
from tests import pooled_reference
from tests import small_systems
from tff_semifl.baselines.one_place import mixmatch
from tff_semifl.baselines.one_place import remixmatch
from tff_semifl.models import functional
from tff_semifl.randomness import random_draws

_THRESHOLD = 0.6
_TEMPERATURE = 0.7


def _pi_model_loss(step, seen):
  del seen  # There is no threshold.
  target = tf.stop_gradient(tf.nn.softmax(step.f(step.weak(0))))
  difference = target - tf.nn.softmax(step.f(step.weak(1)))
  # The ramp is half of all steps: three.
  ramp = min(step.progress / 0.5, 1)
  return tf.reduce_mean(
    pooled_reference.cross_entropy(step.y, step.f(step.x))
  ) + 20 * ramp * tf.reduce_mean(difference**2)


def _mean_teacher_loss(step, seen):
  del seen  # There is no threshold.
  target = tf.nn.softmax(step.teacher(step.weak(0)))
  difference = target - tf.nn.softmax(step.f(step.weak(1)))
  return tf.reduce_mean(
    pooled_reference.cross_entropy(step.y, step.f(step.x))
  ) + 20 * tf.reduce_mean(difference**2)


def _pseudo_labeling_loss(step, seen, *, reproduce_mask):
  logits = step.f(step.weak())
  probabilities = tf.nn.softmax(tf.stop_gradient(logits)).numpy()
  is_sure = (probabilities > _THRESHOLD).any(axis=1)
  seen.append(is_sure)
  labels = tf.one_hot(probabilities.argmax(axis=1), 3, dtype=tf.float64)
  losses = pooled_reference.cross_entropy(labels, logits)
  if reproduce_mask:
    # The authors' code multiplies a row by a column.
    losses = losses * is_sure[:, None]
    assert losses.shape == (8, 8)
  else:
    losses = losses * is_sure
  ramp = min(step.progress / 0.4, 1)
  return tf.reduce_mean(
    pooled_reference.cross_entropy(step.y, step.f(step.x))
  ) + 2 * ramp * tf.reduce_mean(losses)


def _fixmatch_loss(step, seen):
  num, ratio = pooled_reference.BATCH_SIZE, 2
  # All images form one batch for normalization.
  logits = step.f(tf.concat([step.x, step.weak(), step.strong()], axis=0))
  x, weak, strong = tf.split(logits, [num, ratio * num, ratio * num])
  probabilities = tf.nn.softmax(tf.stop_gradient(weak)).numpy()
  is_sure = probabilities.max(axis=1) >= _THRESHOLD
  seen.append(is_sure)
  labels = tf.one_hot(probabilities.argmax(axis=1), 3, dtype=tf.float64)
  return tf.reduce_mean(
    pooled_reference.cross_entropy(step.y, x)
  ) + 0.5 * tf.reduce_mean(
    is_sure * pooled_reference.cross_entropy(labels, strong)
  )


def _mix(step, images, labels, concentration):
  """Mixes each image with another image in random order, in float64."""
  seed = step.seed('MIXUP_COEFFICIENT')
  number = len(images)
  order = tf.random.experimental.stateless_shuffle(
    tf.range(number), random_draws.fold_in(seed, 0)
  ).numpy()
  share = fix_mix_reference.draw_beta(
    number, random_draws.fold_in(seed, 1), concentration
  )
  share = np.maximum(share, 1 - share)[:, None]
  return tuple(
    share * rows + (1 - share) * rows[order] for rows in (images, labels)
  )


def _predict(step, images):
  """Predicts logits in passes with equally many images of each kind.

  Block i exchanges part i with the labeled images, whose other parts stay
  together.
  """
  size = pooled_reference.BATCH_SIZE
  num_blocks = len(images) // size
  bounds = np.cumsum(
    [0]
    + [
      size // num_blocks + (i >= num_blocks - size % num_blocks)
      for i in range(num_blocks)
    ]
  )
  rows = np.arange(len(images)).reshape(num_blocks, size)
  for i in range(1, num_blocks):
    part = slice(bounds[i], bounds[i + 1])
    rows[0, part], rows[i, part] = rows[i, part].copy(), rows[0, part].copy()
  logits = tf.concat([step.f(images[block]) for block in rows], axis=0)
  return tf.gather(logits, np.argsort(rows.ravel()))


def _mixmatch_loss(step, seen):
  del seen  # There is no threshold.
  views = [step.weak(0), step.weak(1)]
  guess = sum(tf.nn.softmax(step.f(view)).numpy() for view in views) / 2
  guess = guess ** (1 / _TEMPERATURE)
  guess /= guess.sum(axis=1, keepdims=True)
  images, labels = _mix(
    step,
    np.concatenate([step.x, *views]),
    np.concatenate([step.y, guess, guess]),
    concentration=0.5,
  )
  logits = _predict(step, images)
  num = pooled_reference.BATCH_SIZE
  difference = labels[num:] - tf.nn.softmax(logits[num:])
  return tf.reduce_mean(
    pooled_reference.cross_entropy(labels[:num], logits[:num])
  ) + 50 * min(step.num / 4, 1) * tf.reduce_mean(difference**2)


def _uda_loss(step, seen):
  num, ratio = pooled_reference.BATCH_SIZE, 2
  logits = step.f(tf.concat([step.x, step.weak(), step.strong()], axis=0))
  x, weak, strong = tf.split(logits, [num, ratio * num, ratio * num])
  weak = tf.stop_gradient(weak)
  is_sure = tf.nn.softmax(weak).numpy().max(axis=1) >= _THRESHOLD
  seen.append(is_sure)
  target = tf.nn.softmax(weak)
  divergence = tf.reduce_sum(
    target * (tf.math.log(target) - tf.nn.log_softmax(strong)), axis=1
  )
  supervised = tf.reduce_mean(pooled_reference.cross_entropy(step.y, x))
  return supervised + 2 * tf.reduce_mean(is_sure * divergence)


_SIZE = 2


class _Formula:
  """A loss that stores predictions."""

  def __init__(self):
    self.recent = [np.full(3, 1 / 3)] * remixmatch.ALIGNED_BATCHES
    self.wanted = np.array([2, 2, 1]) / 5

  def loss(self, step):
    weak, strong = step.weak(), step.strong()
    probabilities = tf.nn.softmax(step.f(weak)).numpy()
    ratio = (1e-6 + self.wanted) / (1e-6 + np.mean(self.recent, axis=0))
    # Normalizing before taking the power gives the same guess.
    guess = (probabilities * ratio) ** (1 / _TEMPERATURE)
    guess /= guess.sum(axis=1, keepdims=True)
    self.recent = [*self.recent[1:], probabilities.mean(axis=0)]
    images, labels = _mix(
      step,
      np.concatenate([step.x, weak, strong]),
      np.concatenate([step.y, guess, guess]),
      concentration=0.75,
    )
    logits = _predict(step, images)
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
      * tf.reduce_mean(pooled_reference.cross_entropy(guess, step.f(strong)))
      + 0.5 * self._rotation_loss(step, strong)
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


class FormulasTest(parameterized.TestCase):
  @parameterized.named_parameters(
    (
      'pi_model',
      'pi_model',
      {'unlabeled_loss_weight': 20, 'ramp_up_share': 0.5},
      _pi_model_loss,
    ),
    (
      'mean_teacher',
      'mean_teacher',
      {'unlabeled_loss_weight': 20, 'ramp_up_share': 0},
      _mean_teacher_loss,
    ),
    *(
      (
        f'pseudo_labeling_{reproduce_mask}',
        'pseudo_labeling',
        {
          'confidence_threshold': _THRESHOLD,
          'unlabeled_loss_weight': 2,
          'reproduce_mask': reproduce_mask,
        },
        functools.partial(_pseudo_labeling_loss, reproduce_mask=reproduce_mask),
      )
      for reproduce_mask in (False, True)
    ),
    (
      'fixmatch',
      'fixmatch',
      {'confidence_threshold': _THRESHOLD, 'unlabeled_loss_weight': 0.5},
      _fixmatch_loss,
    ),
    (
      'mixmatch',
      'mixmatch',
      {
        'guess_temperature': _TEMPERATURE,
        'unlabeled_loss_weight': 50,
        'ramp_up_steps': 4,
      },
      _mixmatch_loss,
    ),
    (
      'uda',
      'uda',
      {
        'confidence_threshold': _THRESHOLD,
        'unlabeled_loss_weight': 2,
      },
      _uda_loss,
    ),
  )
  def test_training_equals_the_formula(self, name, changes, loss):
    seen = []
    pooled_reference.assert_system_equals(
      name, changes, lambda step: loss(step, seen), ratio=2
    )
    if seen:
      # Some images are selected and others are not.
      self.assertBetween(np.mean(np.concatenate(seen)), 0.1, 0.9)

  def test_remixmatch_equals_the_formula(self):
    head = small_systems.create('remixmatch').method.create_head(
      pooled_reference.create_classifier(), pooled_reference.SEED
    )
    self.assertEqual([part.shape for part in head], [(4, 4), (4,)])
    self.assertGreater(np.std(head[0]), 0.1)
    pooled_reference.assert_system_equals(
      'remixmatch',
      {
        'guess_temperature': _TEMPERATURE,
        'ramp_up_steps': 4,
      },
      _Formula().loss,
      ratio=2,
      head=head,
    )


class HeadTest(absltest.TestCase):
  def _create_head(self, *layers):
    model = tf.keras.Sequential(layers)
    return small_systems.create('remixmatch').method.create_head(
      functional.from_keras(model), seed=0
    )

  def test_models_without_features(self):
    with self.assertRaisesRegex(
      ValueError, 'needs a model with a dense last layer'
    ):
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


class InterleaveTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.product(number=(2, 5), rows=(1, 9))
  def test_twice_is_what_it_was(self, number, rows):
    blocks = [
      tf.constant(block)
      for block in np.random.default_rng(0).uniform(size=(number, rows, 2, 3))
    ]
    once = mixmatch.interleave(blocks)
    for found, block in zip(mixmatch.interleave(once), blocks, strict=True):
      self.assertAllEqual(found, block)
    # Also in a graph in which the number of rows is unknown.
    anywhere = tf.function(
      mixmatch.interleave,
      input_signature=[[tf.TensorSpec([None, 2, 3], tf.float64)] * number],
    )
    for found, expected in zip(anywhere(blocks), once, strict=True):
      self.assertAllEqual(found, expected)


class RotateTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(3, 4, 10)
  def test_says_how_often_each_was_turned(self, num_images):
    images = np.random.default_rng(0).uniform(size=(num_images, 5, 5, 2))
    turned, num_turns = remixmatch.rotate(tf.constant(images))
    self.assertEqual(num_turns.dtype, tf.int32)
    # Images 0, 4, 8, ... are not rotated; images 1, 5, 9, ... are rotated once;
    # and so on.
    order = sorted(range(num_images), key=lambda i: (i % 4, i))
    self.assertAllEqual(num_turns, [i % 4 for i in order])
    for found, i in zip(turned, order, strict=True):
      self.assertAllEqual(found, np.rot90(images[i], i % 4))


if __name__ == '__main__':
  absltest.main()
