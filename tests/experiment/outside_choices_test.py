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
import tensorflow_federated as tff

from tasks import digits
from tests.experiment import small_experiment
from tff_semifl import settings
from tff_semifl.algorithms import client_parts
from tff_semifl.core import pseudo_labels
from tff_semifl.experiment import model_selection
from tff_semifl.experiment import run_settings


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


def _none(labels, num_classes, num_clients, seed):
  del labels, num_classes, num_clients, seed


def _masks(labels, num_classes, num_clients, seed):
  del num_classes, seed
  return [np.arange(len(labels)) % num_clients == k for k in range(num_clients)]


def _floats(labels, num_classes, num_clients, seed):
  del num_classes, seed
  return np.array_split(np.linspace(0, 1, len(labels)), num_clients)


def _nothing(images, seed):
  del images, seed


def _top(images, seed):
  del seed
  return images[:, :1]


def _in_numpy(images, seed):
  del seed
  return np.array(images)[:, ::-1]


def _invert(images, seed):
  del seed
  return 255 - images


def _is_sure(client, labels):
  del client
  return labels.confidences >= 0.7


def _spread(labels, logits):
  del labels
  return np.ptp(logits)


class _Factory(tff.aggregators.UnweightedAggregationFactory):
  def create(self, value_type):
    raise NotImplementedError


_FACTORY = _Factory()


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

  def test_selection_by_a_function(self):
    created = small_experiment.create('composed_semifl', selection=_is_sure)
    self.assertEqual(
      settings.as_dict(created)['selection'], f'{__name__}:_is_sure'
    )
    labels = pseudo_labels.from_logits(tf.constant([[0.0, 2.0], [0.1, 0.0]]))
    selection = created.system.client.selection
    np.testing.assert_array_equal(selection.select(None, labels), [True, False])

  def test_aggregator(self):
    created = small_experiment.create(aggregator=_FACTORY)
    self.assertEqual(
      settings.as_dict(created)['aggregator'], f'{__name__}:_FACTORY'
    )
    self.assertIs(created.system.averaging.aggregator.build(), _FACTORY)

  def test_metrics(self):
    run = run_settings.RunSettings(metrics=['macro_f1', _spread])
    self.assertEqual(run.metrics, ('macro_f1', f'{__name__}:_spread'))
    measure = model_selection.Measurement(run.metrics, 'ab', [0, 1])
    logits = np.float32([[1, 2], [3, 5]])
    self.assertEqual(measure(logits)['_spread'], 4)
    two = [lambda labels, logits, k=k: k for k in range(2)]
    run = run_settings.RunSettings(metrics=two)
    with self.assertRaisesRegex(settings.SettingError, 'two metrics'):
      model_selection.Measurement(run.metrics, 'ab', [0, 1])

  @parameterized.parameters('outside:every_other', _every_other)
  def test_partition(self, partition):
    data = self._split(partition)
    self.assertLen(data.shares, 3)
    for client, share in enumerate(data.shares):
      np.testing.assert_array_equal(
        share, np.arange(client, len(data.unlabeled.images), 3)
      )

  @parameterized.parameters(_one_share, _none)
  def test_what_is_no_partition_is_refused(self, partition):
    with self.assertRaisesRegex(
      settings.SettingError, f'^partition={partition.__name__}: '
    ):
      self._split(partition)

  @parameterized.parameters(_masks, _floats)
  def test_indices_are_integers(self, partition):
    with self.assertRaisesRegex(
      settings.SettingError, f':{partition.__name__} gave client 0 .*integers'
    ):
      self._split(partition)

  @parameterized.parameters(_nothing, _top, _in_numpy)
  def test_what_augments_no_images_is_refused(self, augment):
    data = small_experiment.create(strong_augmentation=augment).data
    with self.assertRaisesRegex(
      settings.SettingError,
      rf'^strong_augmentation=.*:{augment.__name__}: .*\(None, 8, 8, 1\)',
    ):
      data.create_task()

  @parameterized.parameters('outside:invert', _invert)
  def test_strong_augmentation(self, strong_augmentation):
    task = digits.Digits().create()
    images = tf.constant(task.load().train.images[:2])
    seed = tf.constant([1, 2])
    experiment = small_experiment.create(
      strong_augmentation=strong_augmentation, weak_augmentation='none'
    )
    made = experiment.data.create_task()
    views = made.strong_augmentation(images, seed)
    np.testing.assert_array_equal(views, 255 - images.numpy())

  @parameterized.parameters(
    ('partition', 'outside:NUMBER'),
    ('strong_augmentation', 'outside:missing'),
    ('selection', 'outside:NUMBER'),
    ('aggregator', 'no_such_module:NAME'),
    ('partition', _invert),
    ('strong_augmentation', _every_other),
    ('aggregator', _Factory),
    ('selection', _every_other),
    ('selection', 3),
  )
  def test_what_is_none_is_refused(self, name, value):
    shown = settings.qualified_name(value) if callable(value) else value
    with self.assertRaisesRegex(settings.SettingError, f'^{name}={shown}: '):
      small_experiment.create('composed_semifl', **{name: value})

  @parameterized.parameters(([3],), ([_invert, _invert.__name__],), (_spread,))
  def test_what_are_no_metrics_is_refused(self, metrics):
    with self.assertRaisesRegex(settings.SettingError, '^metrics='):
      run_settings.RunSettings(metrics=metrics)


if __name__ == '__main__':
  absltest.main()
