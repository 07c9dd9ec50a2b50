# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for all image tasks."""

from absl.testing import absltest
import tensorflow as tf

from tff_semifl.experiment import image_task

_SEED = tf.constant([3, 4])


class WeakThenStrongTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self._seeds = {}

  def _fake(self, name, change):
    def augment(images, seed):
      self._seeds[name] = tuple(seed.numpy())
      return change(images)

    return augment

  def test_strong_gets_the_weak_view(self):
    augment = image_task.weak_then_strong(
      self._fake('weak', lambda x: x + 1), self._fake('strong', lambda x: 2 * x)
    )
    # 2 * (5 + 1), and not 2 * 5 + 1.
    self.assertAllEqual(augment(tf.constant([5]), _SEED), [12])

  def test_both_have_seeds_of_their_own(self):
    augment = image_task.weak_then_strong(
      self._fake('weak', tf.identity), self._fake('strong', tf.identity)
    )
    augment(tf.constant([5]), _SEED)
    first = dict(self._seeds)
    # The weak view is a fresh one, not the one that others draw by this seed.
    self.assertLen({*first.values(), tuple(_SEED.numpy())}, 3)
    augment(tf.constant([5]), _SEED)
    self.assertEqual(self._seeds, first)
    augment(tf.constant([5]), _SEED + 1)
    self.assertNoCommonElements(self._seeds.values(), first.values())


if __name__ == '__main__':
  absltest.main()
