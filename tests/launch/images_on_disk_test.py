# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that results are the same for images in memory and on disk."""

import pathlib
from unittest import mock

from absl.testing import absltest
import numpy as np
import pytest

from tasks import image_folder
from tests import small_digits
from tests import small_systems
from tests.data import image_tree
from tests.experiment import saved_run
from tff_semifl.cli import commands
from tff_semifl.experiment import loaded_task
from tff_semifl.experiment import running

_SETTINGS = {
  'task': 'image_folder',
  'model': small_digits.SETTINGS['model'],
  'total_rounds': 2,
  'client_epochs': 1,
  'server_epochs': 1,
  # With two classes, no confidence is below 0.5.
  'confidence_threshold': 0.5,
  # These statistics read the images of all clients.
  'batch_norm_statistics': 'pooled',
  'experiment_name': 'mine',
}


@pytest.mark.slow
class ImagesOnDiskTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.photos = image_tree.write_tree(
      pathlib.Path(self.create_tempdir().full_path, 'photos')
    )
    self.enter_context(small_digits.without_rand_augment())
    # The process does not depend on the place of images.
    self.enter_context(small_systems.building_once('semifl'))

  def _enter_context(self, kind):
    """Enters one context for all runs, which share compiled computations."""
    command = commands.create('semifl', {'runtime': kind})
    self.enter_context(command.context())

  def _run(self, folder, most_gib):
    """Trains; returns the experiment and its results."""
    self.enter_context(
      mock.patch.object(loaded_task, 'MAX_GIB_IN_MEMORY', most_gib)
    )
    image_folder._read.cache_clear()
    command = commands.create(
      'semifl',
      _SETTINGS | {'image_dir': str(self.photos), 'output_dir': folder},
    )
    experiment = command.create_experiment()
    results = command.open_folder(experiment)
    running.run(experiment, results, quiet=True)
    return experiment, saved_run.read(results.path)

  def test_results_are_the_same(self):
    self._enter_context('in_process')
    folder = self.create_tempdir().full_path
    in_memory, expected = self._run(folder, 1)
    self.assertNotIsInstance(in_memory.data.unlabeled.images, np.memmap)
    self.assertGreater(float(expected.rows[-1]['client/label_ratio']), 0)
    other_folder = self.create_tempdir().full_path
    on_disk, found = self._run(other_folder, 0)
    self.assertIsInstance(on_disk.data.unlabeled.images, np.memmap)
    self.assertEqual(found, expected)
    with self.subTest('a run is resumed wherever its images are'):
      (results,) = pathlib.Path(folder).iterdir()
      (results / 'checkpoints' / 'program_state_2.npz').unlink()
      _, resumed = self._run(folder, 0)
      self.assertEqual(resumed, expected)


if __name__ == '__main__':
  absltest.main()
