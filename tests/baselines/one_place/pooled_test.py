# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that all methods in one place share."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import pooled_reference
from tests import simulation_test_case
from tests import small_systems
from tff_semifl import settings
from tff_semifl.baselines.one_place import pooled
from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.experiment import system_registry
from tff_semifl.models import functional

_CHANGES = {**pooled_reference.SETTINGS, 'unlabeled_ratio': 2}


class ProcessTest(simulation_test_case.SimulationTestCase):
  def test_rounds_are_those_of_the_training(self):
    process = small_systems.build(
      'fixmatch',
      _CHANGES,
      classifier=pooled_reference.create_classifier(),
      weak_augmentation=linear_reference.shifted,
      strong_augmentation=linear_reference.inverted,
      seed=pooled_reference.SEED,
      # The mean and variance of pixels are computed between rounds.
      computes_statistics=False,
    )
    data = linear_reference.labeled_dataset(
      pooled_reference.IMAGES, pooled_reference.LABELS
    )
    state = process.initialize()
    found = pooled_reference.train_system('fixmatch', _CHANGES)
    for round_num, loss in enumerate(found.losses):
      state, metrics, *_ = process.next(state, data, [])
      server = metrics['server']
      np.testing.assert_allclose(server['loss'], loss, rtol=1e-5)
      # Each of the three steps has four labeled images.
      correct = 12 * server['accuracy']
      self.assertAlmostEqual(correct, round(correct), places=5)
      self.assertBetween(correct, 0, 12)
      self.assertAlmostEqual(
        metrics['learning_rate'],
        0.2 * np.cos(7 * np.pi / 16 * (3 * round_num + 2) / 6),
        places=6,
      )
    for part, expected in (
      (state.global_model_weights.trainable, found.average),
      (state.server_work.trained, found.student),
    ):
      for array, other in zip(part, expected, strict=True):
        np.testing.assert_allclose(array, other, rtol=1e-4, atol=1e-6)


class DropoutTest(absltest.TestCase):
  def test_each_pass_drops_others_and_each_step_the_same_again(self):
    classifier = functional.from_keras(
      tf.keras.Sequential(
        [
          tf.keras.Input([2, 2, 1]),
          tf.keras.layers.Flatten(),
          tf.keras.layers.Dropout(0.5),
          tf.keras.layers.Dense(3),
        ]
      )
    )
    weights = classifier.initial_weights

    def passes(num):
      step = pooled_method.PooledStep(
        classifier=classifier,
        labeled=None,
        labels=None,
        unlabeled=None,
        student=weights,
        teacher=weights,
        head=(),
        weak_augmentation=linear_reference.unchanged,
        strong_augmentation=linear_reference.unchanged,
        class_shares=tf.zeros([3]),
        unlabeled_ratio=1,
        run_seed=tf.constant(1),
        num=tf.constant(num),
        total_steps=9,
      )
      images = pooled_reference.IMAGES
      return [
        *(logits.numpy() for logits in step.logits(images)),
        *(logits.numpy() for logits in step.logits(images)),
        *(logits.numpy() for logits in step.teacher_logits(images)),
      ]

    first, second, third = passes(4)
    self.assertFalse(np.allclose(first, second))
    self.assertFalse(np.allclose(second, third))
    np.testing.assert_array_equal(first, passes(4)[0])
    self.assertFalse(np.allclose(first, passes(5)[0]))


class KernelDecayTest(absltest.TestCase):
  def test_only_kernels_decay(self):
    optimizer = pooled.KernelDecay(weight_decay=1.0, momentum=0.0).build(
      [
        'conv/kernel:0',
        'conv/bias:0',
        'kernel/gamma:0',
        'x/depthwise_kernel:0',
      ],
      num_others=2,
    )
    weights = [np.ones([1], np.float32)] * 6
    state = optimizer.initialize([np.ones([1], np.float32)] * 6)
    state = optimizer.set_hparams(state, {'learning_rate': 1.0})
    _, trained = optimizer.next(state, weights, [np.zeros([1], np.float32)] * 6)
    np.testing.assert_array_equal(
      np.concatenate(trained), [0.0, 1.0, 1.0, 0.0, 0.0, 1.0]
    )


class SettingsTest(parameterized.TestCase):
  def test_rounds(self):
    system = system_registry.SYSTEMS['fixmatch']
    # 2^26 labeled images, 64 in each step, from round 0 on.
    self.assertEqual(system.total_rounds, 2**26 // 64 // 1024 - 1)
    self.assertEqual(system.count_steps(50, []), (1024, 0))
    self.assertFalse(system.has_clients)

  @parameterized.parameters(
    ({'steps_per_round': 1000}, 'steps_per_round=1000: must divide total_st'),
    (
      {'total_steps': 2**20, 'batch_size': 2**10},
      'total_steps=1048576: of 7168 unlabeled',
    ),
  )
  def test_steps_that_cannot_be(self, changes, message):
    with self.assertRaisesRegex(settings.SettingError, f'^{message}'):
      settings.change(system_registry.SYSTEMS['fixmatch'], changes)


if __name__ == '__main__':
  absltest.main()
