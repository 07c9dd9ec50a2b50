# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Losses of methods in one place against their formulas (F.3 to F.7)."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import mixed_reference
from tests import pooled_reference

_THRESHOLD = 0.6
_TEMPERATURE = 0.7


def _pi_model_loss(step):
  target = tf.stop_gradient(tf.nn.softmax(step.f(step.weak(0))))
  difference = target - tf.nn.softmax(step.f(step.weak(1)))
  # Half of all steps, three, are the ramp.
  ramp = min(step.progress / 0.5, 1)
  return tf.reduce_mean(
    pooled_reference.cross_entropy(step.y, step.f(step.x))
  ) + 20 * ramp * tf.reduce_mean(difference**2)


def _mean_teacher_loss(step):
  target = tf.nn.softmax(step.teacher(step.weak(0)))
  difference = target - tf.nn.softmax(step.f(step.weak(1)))
  return tf.reduce_mean(
    pooled_reference.cross_entropy(step.y, step.f(step.x))
  ) + 20 * tf.reduce_mean(difference**2)


def _pseudo_labeling_loss(step, num_sure, *, reproduce_mask):
  logits = step.f(step.weak())
  probabilities = tf.nn.softmax(tf.stop_gradient(logits)).numpy()
  is_sure = (probabilities > _THRESHOLD).any(axis=1)
  num_sure.append(is_sure.sum())
  labels = tf.one_hot(probabilities.argmax(axis=1), 3, dtype=tf.float64)
  losses = pooled_reference.cross_entropy(labels, logits)
  if reproduce_mask:
    # The code multiplies a row by a column.
    losses = losses * is_sure[:, None]
    assert losses.shape == (8, 8)
  else:
    losses = losses * is_sure
  ramp = min(step.progress / 0.4, 1)
  return tf.reduce_mean(
    pooled_reference.cross_entropy(step.y, step.f(step.x))
  ) + 2 * ramp * tf.reduce_mean(losses)


def _fixmatch_loss(step, num_sure):
  num, ratio = pooled_reference.BATCH_SIZE, 2
  # All images form one batch, which is normalized together.
  logits = step.f(tf.concat([step.x, step.weak(), step.strong()], axis=0))
  x, weak, strong = tf.split(logits, [num, ratio * num, ratio * num])
  probabilities = tf.nn.softmax(tf.stop_gradient(weak)).numpy()
  is_sure = probabilities.max(axis=1) >= _THRESHOLD
  num_sure.append(is_sure.sum())
  labels = tf.one_hot(probabilities.argmax(axis=1), 3, dtype=tf.float64)
  return tf.reduce_mean(
    pooled_reference.cross_entropy(step.y, x)
  ) + 0.5 * tf.reduce_mean(
    is_sure * pooled_reference.cross_entropy(labels, strong)
  )


def _mixmatch_loss(step):
  views = [step.weak(0), step.weak(1)]
  guess = sum(tf.nn.softmax(step.f(view)).numpy() for view in views) / 2
  guess = guess ** (1 / _TEMPERATURE)
  guess /= guess.sum(axis=1, keepdims=True)
  images, labels = mixed_reference.mix(
    step,
    np.concatenate([step.x, *views]),
    np.concatenate([step.y, guess, guess]),
    concentration=0.5,
  )
  logits = mixed_reference.predict(step, images)
  num = pooled_reference.BATCH_SIZE
  difference = labels[num:] - tf.nn.softmax(logits[num:])
  return tf.reduce_mean(
    pooled_reference.cross_entropy(labels[:num], logits[:num])
  ) + 50 * min(step.num / 4, 1) * tf.reduce_mean(difference**2)


class FormulasTest(parameterized.TestCase):
  def test_pi_model(self):
    pooled_reference.assert_system_equals(
      'pi_model',
      {'unlabeled_loss_weight': 20, 'ramp_up_share': 0.5},
      _pi_model_loss,
      ratio=2,
    )

  def test_mean_teacher(self):
    pooled_reference.assert_system_equals(
      'mean_teacher',
      # The full weight from the first step on.
      {'unlabeled_loss_weight': 20, 'ramp_up_share': 0},
      _mean_teacher_loss,
      ratio=2,
    )

  @parameterized.parameters(False, True)
  def test_pseudo_labeling(self, reproduce_mask):
    num_sure = []
    pooled_reference.assert_system_equals(
      'pseudo_labeling',
      {
        'confidence_threshold': _THRESHOLD,
        'unlabeled_loss_weight': 2,
        'reproduce_mask': reproduce_mask,
      },
      lambda step: _pseudo_labeling_loss(
        step, num_sure, reproduce_mask=reproduce_mask
      ),
      ratio=2,
    )
    # Each of six steps has eight unlabeled images.
    self.assertBetween(sum(num_sure), 5, 6 * 8 - 5)

  def test_fixmatch(self):
    num_sure = []
    pooled_reference.assert_system_equals(
      'fixmatch',
      {'confidence_threshold': _THRESHOLD, 'unlabeled_loss_weight': 0.5},
      lambda step: _fixmatch_loss(step, num_sure),
      ratio=2,
    )
    # Each of six steps has eight unlabeled images.
    self.assertBetween(sum(num_sure), 5, 6 * 8 - 5)

  def test_mixmatch(self):
    pooled_reference.assert_system_equals(
      'mixmatch',
      {
        'guess_temperature': _TEMPERATURE,
        'unlabeled_loss_weight': 50,
        'ramp_up_steps': 4,
      },
      _mixmatch_loss,
      ratio=2,
    )


if __name__ == '__main__':
  absltest.main()
