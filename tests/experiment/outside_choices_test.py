# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of users' parts, which are named 'package.module:NAME'."""

import dataclasses
import sys
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tasks import digits
from tests.experiment import small_experiment
from tff_semifl import settings
from tff_semifl.algorithms import client_parts


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sure(client_parts.FixedThreshold):
  """A selection with a setting."""

  doubt: float = settings.setting(0.5, 'A setting.', settings.ABOVE_0)


def _every_other(labels, num_classes, num_clients, seed):
  del num_classes, seed
  return [range(k, len(labels), num_clients) for k in range(num_clients)]


def _one_share(labels, num_classes, num_clients, seed):
  del num_classes, num_clients, seed
  return [range(len(labels))]


def _invert(images, seed):
  del seed
  return 255 - images


class OutsideChoicesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    module = types.ModuleType('outside')
    module.Sure = Sure
    module.SURE = Sure(doubt=2.0)
    module.every_other = _every_other
    module.one_share = _one_share
    module.invert = _invert
    module.NUMBER = 3
    self.module = module
    self.enter_context(mock.patch.dict(sys.modules, outside=module))

  def _split(self, partition):
    data = small_experiment.fill_in(num_clients=3, partition=partition).data
    task = digits.Digits().create()
    return data.data_split.split(task, task.load(), 0)

  def test_part_of_a_client(self):
    for name in ('outside:Sure', 'outside:SURE'):
      experiment = small_experiment.create('composed_semifl', selection=name)
      self.assertIsInstance(experiment.system.client.selection, Sure)
    self.assertEqual(
      settings.as_dict(experiment.system)['selection'], f'{__name__}:Sure'
    )
    changed = small_experiment.create(
      'composed_semifl', selection='outside:Sure', doubt=0.25
    )
    self.assertEqual(changed.system.client.selection.doubt, 0.25)

  def test_partition(self):
    data = self._split('outside:every_other')
    self.assertLen(data.shares, 3)
    for client, share in enumerate(data.shares):
      np.testing.assert_array_equal(
        share, np.arange(client, len(data.unlabeled.images), 3)
      )

  def test_partition_for_other_clients(self):
    with self.assertRaisesRegex(
      settings.SettingError, '^partition=one_share: '
    ):
      self._split('outside:one_share')

  def test_strong_augmentation(self):
    task = digits.Digits().create()
    images = tf.constant(task.load().train.images[:2])
    seed = tf.constant([1, 2])
    experiment = small_experiment.create(
      strong_augmentation='outside:invert', weak_augmentation='none'
    )
    made = experiment.data.create_task()
    views = made.strong_augmentation(images, seed)
    np.testing.assert_array_equal(views, 255 - images.numpy())

  @parameterized.parameters(
    ('partition', 'outside:NUMBER'),
    ('strong_augmentation', 'outside:missing'),
    ('selection', 'outside:NUMBER'),
    ('aggregator', 'no_such_module:NAME'),
  )
  def test_what_is_none_is_refused(self, name, value):
    with self.assertRaisesRegex(settings.SettingError, f'^{name}={value}: '):
      small_experiment.create('composed_semifl', **{name: value})


if __name__ == '__main__':
  absltest.main()
