# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of padding after the images of clients."""

import dataclasses

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests import simulation_test_case
from tests.work import small_turns
from tff_semifl.systems import averaging
from tff_semifl.systems import client_parts
from tff_semifl.systems import client_trainings
from tff_semifl.systems import composed
from tff_semifl.systems import registry
from tff_semifl.work import turn_form

# All have 32 rows with their padding.
_SIZES = (22, 17, 32)


def tearDownModule():
  small_turns.forget()


class PadTest(parameterized.TestCase):
  @parameterized.parameters(
    (0, 0), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (1000, 1024), (1025, 2048)
  )
  def test_to_a_power_of_two(self, number, size):
    labels = np.arange(number, dtype=np.int32) + 7
    images = np.tile(
      labels[:, np.newaxis, np.newaxis, np.newaxis], [1, 2, 2, 3]
    )
    data = turn_form.COMPILED.pad(
      {
        'client_id': tf.constant(5),
        'image': tf.constant(images),
        'label': tf.constant(labels),
      }
    )
    self.assertEqual(data['client_id'], 5)
    self.assertEqual(data['num_images'], number)
    expected = [*labels, *[number + 6] * (size - number)]
    np.testing.assert_array_equal(data['label'], expected)
    self.assertEqual(data['image'].shape, (size, 2, 2, 3))
    np.testing.assert_array_equal(data['image'][:, 1, 0, 2], expected)

  def test_dynamic_form_needs_none(self):
    data = {'image': np.zeros([3, 2, 2, 3], np.uint8)}
    self.assertIs(turn_form.DYNAMIC.pad(data), data)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _CountsRows(client_trainings.FixMix):
  """A method of one's own."""

  def report(self, guidance, labels):
    del guidance
    return tf.shape(labels.labels)[0]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _MeanOfRows(client_parts.FixedThreshold):
  """A part of one's own."""

  def select(self, guidance, labels):
    del guidance
    return labels.confidences >= tf.reduce_mean(labels.confidences)


class AllowsPaddingTest(parameterized.TestCase):
  def test_all_systems_but_one(self):
    others = [
      name
      for name, system in registry.SYSTEMS.items()
      if isinstance(system, averaging.Averaging)
      and not system.client.allows_padding
    ]
    # Its clients add images of the server after the padding.
    self.assertEqual(others, ['data_sharing'])

  @parameterized.parameters(
    *composed.SELECTIONS.values(),
    *composed.LABELERS.values(),
    *composed.ALIGNMENTS.values(),
    *composed.ADJUSTMENTS.values(),
    *composed.REGULARIZERS.values(),
    *composed.WEIGHTINGS.values(),
  )
  def test_parts(self, part):
    self.assertTrue(part.allows_padding)

  @parameterized.parameters(
    _CountsRows(), client_trainings.FixMix(selection=_MeanOfRows())
  )
  def test_derived_classes_have_to_say_so(self, client):
    self.assertFalse(client.allows_padding)


@pytest.mark.slow
class UnequallyManyImagesTest(simulation_test_case.SimulationTestCase):
  @parameterized.parameters(
    'semifl', 'batch_label_semifl', 'supervised_fedavg', 'composed_semifl'
  )
  def test_padding_changes_nothing(self, system_name):
    small_turns.assert_equal(
      small_turns.take(system_name, small_turns.PADDED, *_SIZES),
      small_turns.take(system_name, turn_form.DYNAMIC, *_SIZES),
    )


if __name__ == '__main__':
  absltest.main()
