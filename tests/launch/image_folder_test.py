# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of programs with a user's own images."""

import json
import pathlib
import shutil

from absl.testing import absltest
import numpy as np
import pytest

from launch import demo
from tests import forked_programs
from tests import small_digits
from tests import small_systems
from tests.data import image_tree
from tests.experiment import saved_run
from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.experiment import plan


class ImageFolderTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    self._images = image_tree.write_tree(self._folder / 'photos')

  def _command(self, **values):
    """The command with these flags."""
    return commands.create(
      'semifl',
      {'task': 'image_folder', 'image_dir': str(self._images)} | values,
    )

  def _run(self, images):
    completed = forked_programs.run(
      'launch.train',
      'semifl',
      '--task=image_folder',
      f'--image_dir={images}',
      '--client_epochs=1',
      '--server_epochs=1',
      # With two classes, no confidence is below 0.5.
      '--confidence_threshold=0.5',
      '--total_rounds=2',
      f'--model={small_digits.SETTINGS["model"]}',
      f'--output_dir={self._folder}',
    )
    self.assertEqual(completed.returncode, 0, completed.stderr)
    return completed

  @pytest.mark.slow
  def test_the_real_program(self):
    # A test image that a client has, too.
    shutil.copy(
      self._images / 'test/dog/b.png', self._images / 'clients/north/a.png'
    )
    first = self._run(self._images)
    # The system, the task, and the name of the folder.
    experiment = self._folder / 'semifl_image_folder_photos_seed0'
    rows = saved_run.read_rows(experiment)
    self.assertEqual([row['round'] for row in rows], ['0', '1', '2'])
    for row in rows:
      self.assertTrue(np.isfinite(float(row['test/loss'])))
      # The classes of clients' images are not known.
      self.assertEqual(row['client/pseudo_accuracy'], '')
    self.assertEqual(float(rows[-1]['client/num_participating']), 2)
    hparams = json.loads((experiment / 'hparams.json').read_text())
    self.assertStartsWith(hparams['data'], '4 labeled images, 3 of 3 clients')
    pattern = '1 of 3 test images.*test/dog/b.png = clients/north/a.png'
    for text in (first.stderr, (experiment / 'log.txt').read_text()):
      self.assertRegex(text, pattern)
    filled = {
      'num_labeled': 4,
      'num_clients': 3,
      'clients_per_round': 3,
      'image_size': '16x16',
      'strong_augmentation': 'keras_cv_gentle',
    }
    self.assertEqual({**hparams['flags'], **filled}, hparams['flags'])
    self.assertNotIn('partition', hparams['flags'])
    moved = self._folder / 'moved' / 'photos'
    moved.parent.mkdir()
    shutil.move(self._images, moved)
    second = self._run(moved)
    self.assertIn('was complete after round 2', second.stderr)
    self.assertEqual(second.stdout, first.stdout)

  def test_resumes_with_the_same_images_wherever_they_are(self):
    values = {'experiment_name': 'mine', 'output_dir': str(self._folder)}
    self._command(**values).check_folder()
    moved = self._folder / 'moved'
    shutil.move(self._images, moved)
    self._command(image_dir=str(moved), **values).check_folder()
    changed = self._folder / 'changed'
    shutil.move(moved, changed)
    image_tree.write_image(changed / 'server/dog/new.png', 1)
    with self.assertRaisesRegex(
      settings.SettingError,
      r'^output_dir=.*/mine holds an experiment on other data \(4 labeled .*\)'
      r' than these \(5 labeled',
    ):
      self._command(image_dir=str(changed), **values).check_folder()

  def test_plan(self):
    shutil.rmtree(self._images / 'test')
    command = self._command(test_fraction=0.5, model_depth=7, model_width=1)
    with small_systems.without_process('semifl'):
      described = plan.describe(command.create_experiment())
    self.assertIn("2 of the server's for testing", described['data'])
    self.assertEqual(described['labeled_images'], 2)
    self.assertEqual(described['test_images'], 2)
    self.assertEqual(described['unlabeled_images_at_clients'], 3)

  def test_demonstration_is_quick_unless_chosen_otherwise(self):
    given = {'task': 'image_folder', 'image_dir': str(self._images)}
    quick = demo.create('semifl', given)
    values = settings.as_dict(quick)
    self.assertLess(values['total_rounds'], 80)
    self.assertEqual(values['client_epochs'], 1)
    for chosen in (
      {'image_size': '64', 'total_rounds': 3},
      {'model': 'linear', 'client_epochs': 2},
    ):
      command = demo.create('semifl', {**given, **chosen})
      found = settings.as_dict(command)
      self.assertEqual({name: found[name] for name in chosen}, chosen)
    self.assertEqual(
      demo.create('semifl', {'task': 'digits'}),
      commands.create('semifl', {'task': 'digits'}),
    )

  def test_server_has_all_its_images_in_random_order(self):
    for index in range(20):
      image_tree.write_image(
        self._images / f'server/cat/{index}.png', 2 * index
      )
    found = []
    for seed in (0, 0, 1):
      data = self._command(seed=seed).experiment.data
      found.append(data.load(data.task.create()))
    levels = [data.labeled.images[:, 0, 0, 0].tolist() for data in found]
    for each in levels:
      self.assertEqual(
        sorted(each), sorted([*range(0, 40, 2), 51, 51, 153, 153])
      )
      self.assertNotEqual(each, sorted(each))
    self.assertEqual(levels[0], levels[1])
    self.assertNotEqual(levels[0], levels[2])
    np.testing.assert_array_equal(
      found[0].labeled.labels, np.array(levels[0]) == 153
    )


if __name__ == '__main__':
  absltest.main()
