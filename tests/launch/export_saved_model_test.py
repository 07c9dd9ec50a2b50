# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of exporting a trained model, and of using the export elsewhere."""

import contextlib
import io
import json
import pathlib
import shutil
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow_datasets as tfds

from launch import export_saved_model
from tests import small_digits
from tests.data import image_tree
from tests.data import tfds_files
from tests.export import small_model
from tests.launch import programs
from tests.launch import trained_experiment
from tff_semifl import settings
from tff_semifl.cli import program
from tff_semifl.export import tflite

# A user's model has no width.
_SMALL_MODEL = {'model': small_digits.SETTINGS['model'], 'model_width': None}


class ExportSavedModelTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    self._experiment = self._folder / 'mine'

  def _export(self, **values):
    """The output of the program."""
    lines = programs.run(
      export_saved_model.main,
      export_saved_model.Export(),
      **{'experiment': self._experiment} | values,
    )
    return '\n'.join(lines)

  def _assert_exported(self, model, path):
    shape = model.input_shape[1:]
    images = small_model.random_images(5, shape)
    np.testing.assert_allclose(
      tflite.load(path).predict(images),
      small_model.probabilities(model, images),
      atol=1e-5,
    )

  def _assert_refused(self, message, **values):
    with self.assertRaises(settings.SettingError) as raised:
      self._export(**values)
    self.assertRegex(program.describe(raised.exception), f'^flag {message}')

  def test_newest_intact_checkpoint(self):
    intact, _ = (
      trained_experiment.save(self._experiment, round_num=n, **_SMALL_MODEL)
      for n in (1, 2)
    )
    damaged = self._experiment / 'checkpoints/program_state_2.npz'
    damaged.write_bytes(b'')
    with self.assertLogs(level='WARNING') as logs:
      printed = self._export()
    self.assertIn('program_state_2.npz is damaged', logs.output[0])
    self.assertIn('model of round 1', printed)
    export = self._experiment / 'export'
    self._assert_exported(intact, export)
    self.assertIn(
      'not fully trained: round 1 of 2', (export / 'README.md').read_text()
    )

  @pytest.mark.slow
  def test_cifar10_needs_no_cifar10(self):
    model = trained_experiment.save(
      self._experiment,
      task='cifar10',
      data_dir=self._folder,
      **_SMALL_MODEL,
      num_labeled=50,
    )
    with mock.patch.object(
      tfds.core.DatasetBuilder,
      'download_and_prepare',
      side_effect=AssertionError('It was to be downloaded.'),
    ):
      printed = self._export()
    reason = f"data set 'cifar10' is not in {self._folder}"
    self.assertIn(f'not tested: {reason}', printed)
    export = self._experiment / 'export'
    self._assert_exported(model, export)
    self.assertIn(reason, (export / 'README.md').read_text())

    data_dir = self.create_tempdir().full_path
    self._assert_refused(f'--data_dir={data_dir}: .*not in', data_dir=data_dir)
    data = tfds_files.random_cifar10(200, seed=1)
    test = data.select(np.arange(60))
    tfds_files.write_cifar10(data_dir, {'train': data, 'test': test})
    self._export(data_dir=data_dir, format='tflite_int8')
    self.assertIn('of 60 images', (export / 'README.md').read_text())
    self.assertEqual(
      sorted(path.name for path in export.iterdir()),
      ['README.md', 'confusion_matrix.png', 'labels.txt', 'model_int8.tflite'],
    )
    self.assertEqual(
      tflite.load(export / 'model_int8.tflite').class_names[0],
      'airplane',
    )

  def test_images_of_ones_own(self):
    images = image_tree.write_tree(self._folder / 'photos')
    model = trained_experiment.save(
      self._experiment, task='image_folder', image_dir=images, **_SMALL_MODEL
    )
    moved = self._folder / 'moved'
    images.rename(moved)
    self._assert_refused(f'--image_dir={images}: .*is missing')
    with contextlib.redirect_stderr(io.StringIO()) as lines:
      printed = self._export(image_dir=moved, format='saved_model,tflite_int8')
    # Before the conversion, and before the test.
    for name in ('saved_model', 'tflite_int8'):
      self.assertGreaterEqual(lines.getvalue().count(f' {name}'), 2)
    self.assertIn('| saved_model | . |', printed)
    export = self._experiment / 'export'
    self._assert_exported(model, export)
    self.assertEqual(tflite.load(export).class_names, ('cat', 'dog'))
    card = (export / 'README.md').read_text()
    self.assertIn('| data | 4 labeled images, 3 of 3 clients, 3 of', card)
    changed = self._folder / 'changed'
    moved.rename(changed)
    image_tree.write_image(changed / 'server/cat/new.png', 9)
    self._assert_refused(
      r'--experiment=.*/mine: was trained on other data \(4 labeled .* than'
      r' the present data \(5 labeled',
      image_dir=changed,
    )

  def test_folder_that_holds_no_experiment_or_no_model(self):
    self._assert_refused('--experiment=: name the folder', experiment='')
    self._assert_refused('--experiment=.*/mine: is no folder of an experiment')
    trained_experiment.save(self._experiment)
    path = self._experiment / 'hparams.json'
    hparams = json.loads(path.read_text())
    hparams['flags']['flag_of_tomorrow'] = 3
    path.write_text(json.dumps(hparams))
    self._assert_refused(
      '--experiment=.*/mine: was run by another version of this program, with a'
      ' setting that this one has not: flag_of_tomorrow=3'
    )
    del hparams['flags']['flag_of_tomorrow']
    hparams['flags']['model_depth'] = 11
    path.write_text(json.dumps(hparams))
    self._assert_refused('--experiment=.*/mine: these are the weights of anoth')
    shutil.rmtree(self._experiment / 'checkpoints')
    self._assert_refused('--experiment=.*/mine: has no checkpoint yet')
    self.assertFalse((self._experiment / 'export').exists())

  def test_folders_that_are_no_export_are_not_replaced(self):
    trained_experiment.save(self._experiment)
    (self._folder / 'photos').mkdir()
    precious = self._folder / 'photos' / 'precious.png'
    precious.touch()
    for folder, message in (
      ('photos', 'has precious.png in it, which no export wrote'),
      ('photos/precious.png', '.*Not a directory'),
      ('.', 'has .* in it, which no export wrote'),
    ):
      path = self._folder / folder
      self._assert_refused(f'--export_dir={path}: {message}', export_dir=path)
    self._assert_refused(
      '--export_dir=/proc/nothing: cannot write /proc/nothing: .*stays as it',
      export_dir='/proc/nothing',
    )
    self.assertTrue(precious.exists())


if __name__ == '__main__':
  absltest.main()
