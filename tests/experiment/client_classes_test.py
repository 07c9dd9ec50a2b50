# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the estimated numbers of images of each class at clients."""

import csv
import pathlib
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.data import sources
from tff_semifl.experiment import client_classes
from tff_semifl.experiment import evaluated_images


def _create(system, settings_of_system, labels, shares):
  """What is needed of an experiment with two classes, of equal labels."""
  system = commands.create(system, settings_of_system).experiment.system
  return types.SimpleNamespace(
    settings=types.SimpleNamespace(system=system),
    task=types.SimpleNamespace(num_classes=2, class_names=('cat', 'dog')),
    data=types.SimpleNamespace(
      labeled=sources.LabeledImages(np.zeros([4]), np.array([0, 0, 1, 1])),
      unlabeled=sources.ImagePool(np.zeros([len(labels)]), np.array(labels)),
      shares=[np.array(share, int) for share in shares],
      client_names=['Ann, of Bath', 'bob', 'empty'],
    ),
  )


class ClientClassesTest(parameterized.TestCase):
  @parameterized.parameters(
    # The model is sure, and right, so that a client's shares are those of its
    # images, here with half an image more of each class.
    (
      'client_prior_semifl',
      {'prior_pseudo_count': 1.0},
      [[4 * 3.5 / 5, 1 * 0.5 / 2, 0], [4 * 1.5 / 5, 1 * 1.5 / 2, 0]],
    ),
    ('client_priors', {}, [[3, 0, 0], [1, 1, 0]]),
  )
  def test_estimates_and_says(self, system, values, expected):
    labels = [0, 0, 0, 1, 1]
    experiment = _create(system, values, labels, [[0, 1, 2, 3], [4], []])
    logits = np.float32(50 * np.eye(2)[labels])
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / 'metrics.csv').write_text('round,client/own/strength\n0,5.0\n')
    with mock.patch.object(
      evaluated_images, 'compute_logits', return_value=logits
    ):
      client_classes.write(folder, experiment, None)
    with (folder / client_classes.TABLE).open(newline='') as file:
      found = [row['client'] for row in csv.DictReader(file)]
    self.assertEqual(found, experiment.data.client_names)
    counts = client_classes.read(folder)
    np.testing.assert_allclose(
      [counts['cat'], counts['dog']], expected, atol=0.06
    )
    self.assertEndsWith(
      client_classes.describe(experiment, counts),
      ': 3 of cat (true: 3), 2 of dog (true: 2)',
    )

  def test_is_the_default_of_client_priors_alone(self):
    for system, changes, expected in (
      ('client_priors', {}, True),
      ('client_prior_semifl', {}, False),
    ):
      command = commands.create(system, changes)
      found = command.run.fill_in(command.experiment)
      self.assertIs(found.client_classes, expected, system)

  def test_is_refused_where_nobody_estimates(self):
    for system, changes, reason in (
      ('semifl', {}, 'client_prior_semifl'),
      (
        'client_prior_semifl',
        {'aggregator': 'differential_privacy'},
        'does not cover',
      ),
    ):
      command = commands.create(system, {'client_classes': True, **changes})
      with self.assertRaisesRegex(
        settings.SettingError, f'^client_classes=True: .*{reason}'
      ):
        command.run.fill_in(command.experiment)


if __name__ == '__main__':
  absltest.main()
