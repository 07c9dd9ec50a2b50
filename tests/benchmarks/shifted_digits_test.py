# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of digits on which the assumptions of client priors fail."""

from absl.testing import absltest
import numpy as np

from benchmarks import shifted_digits
from tasks import digits
from tff_semifl import settings
from tff_semifl.cli import commands


class ShiftedDigitsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.train = digits.Digits().create().load().train

  def _load(self, task):
    data = task.create().load()
    self.assertEqual(
      len(data.train.labels) + len(data.unlabeled), len(self.train.labels)
    )
    self.assertCountEqual(
      np.concatenate(data.shares), range(len(data.unlabeled))
    )
    return data

  def test_server_has_the_labels_that_it_is_to_have(self):
    for task in (shifted_digits.ALIKE, shifted_digits.UNEVEN_LABELS):
      data = self._load(task)
      np.testing.assert_array_equal(
        np.bincount(data.train.labels), [*map(int, task.labels_per_class)]
      )
      self.assertLen(data.train.labels, 50)

  def test_all_of_it_is_recorded(self):
    for name in ('ALIKE', 'CAMERAS', 'UNEVEN_LABELS'):
      command = commands.create(
        'semifl', {'task': f'benchmarks.shifted_digits:{name}'}
      )
      again = commands.create('semifl', settings.as_dict(command))
      self.assertEqual(
        again.experiment.data.task, getattr(shifted_digits, name)
      )

  def test_contrast_falls_from_client_to_client(self):
    data = self._load(shifted_digits.CAMERAS)
    same = self._load(shifted_digits.ALIKE)
    for client, share in enumerate(same.shares):
      np.testing.assert_array_equal(data.shares[client], share)
      contrast = 1 - 0.8 * client / 9
      expected = (same.unlabeled[share] - 127.5) * contrast + 127.5
      np.testing.assert_allclose(data.unlabeled[share], expected, atol=0.5)
