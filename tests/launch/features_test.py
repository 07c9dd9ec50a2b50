# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of programs with a user's own feature vectors."""

import csv
import json
import pathlib
import tempfile

from absl.testing import absltest
import numpy as np

from launch import evaluate
from launch import export_saved_model
from launch import predict
from tests.data import image_tree
from tests.data import small_features
from tests.experiment import saved_run
from tests.export import brightness_model
from tests.launch import programs
from tff_semifl import settings
from tff_semifl.cli import commands

_ARRAYS = small_features.create()


class FeaturesTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._folder = pathlib.Path(
      tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
    )
    cls._file = small_features.save(cls._folder / 'small.npz')
    cls._first = cls._train(cls._file, 1)
    cls._experiment = cls._folder / 'semifl_features_small_seed0'
    cls._export = cls._experiment / 'export'

  @classmethod
  def _train(cls, file, total_rounds):
    return programs.run_module(
      'launch.train',
      'semifl',
      '--task=features',
      f'--features_file={file}',
      f'--total_rounds={total_rounds}',
      '--constant_learning_rate',
      '--confidence_threshold=0.6',
      f'--output_dir={cls._folder}',
    )

  def _assert_fails(self, message, main, create, **values):
    with self.assertRaisesRegex(settings.SettingError, message):
      programs.run(main, create, **values)

  def _data(self, **values):
    """Settings of data, with dependent defaults filled in."""
    return commands.create_data(
      {'task': 'features', 'features_file': str(self._file)} | values
    )

  def test_trains_and_resumes(self):
    self.assertEqual(self._first.returncode, 0, self._first.stderr)
    moved = small_features.save(self._folder / 'moved' / 'small.npz')
    second = self._train(moved, 2)
    self.assertEqual(second.returncode, 0, second.stderr)
    self.assertIn('resumed after round 1', second.stderr)
    rows = saved_run.read_rows(self._experiment)
    self.assertEqual([row['round'] for row in rows], [*'012'])
    self.assertEqual(float(rows[-1]['test/accuracy']), 1)
    for row in rows[1:]:
      self.assertEqual(float(row['client/num_participating']), 5)
      self.assertGreater(float(row['client/pseudo_accuracy']), 0.9)
    hparams = json.loads((self._experiment / 'hparams.json').read_text())
    self.assertEqual(hparams['flags']['model'], 'linear')
    self.assertStartsWith(hparams['data'], '13 labeled feature vectors')

    other = small_features.save(
      self._folder / 'other' / 'small.npz',
      client_features=_ARRAYS['client_features'] + 1,
    )
    command = commands.create(
      'semifl',
      {
        'task': 'features',
        'features_file': str(other),
        'total_rounds': 2,
        'constant_learning_rate': True,
        'confidence_threshold': 0.6,
        'output_dir': str(self._folder),
      },
    )
    with self.assertRaisesRegex(
      settings.SettingError, 'holds an experiment on other data'
    ):
      command.check_folder()

  def test_evaluates(self):
    json_file = self._folder / 'results.json'
    printed = programs.run(
      evaluate.main,
      evaluate.create,
      exported_model=self._export,
      images=self._file,
      output_file=json_file,
    )
    self.assertStartsWith(printed[0], 'accuracy: 100.0% of 30 images')
    self.assertEqual(json.loads(json_file.read_text())['accuracy'], 1)
    of_task = programs.run(
      evaluate.main,
      evaluate.create,
      exported_model=self._export,
      task='features',
      features_file=self._file,
    )
    self.assertEqual(of_task, printed)

  def test_predicts(self):
    file = self._folder / 'new.npy'
    np.save(file, _ARRAYS['test_features'][:4])
    table = self._folder / 'predictions.csv'
    printed = programs.run(
      predict.main,
      predict.Predict(),
      exported_model=self._export,
      images=f'{file},{self._file}',
      output_file=table,
    )
    self.assertEqual(printed[0], 'images: 17')
    with table.open() as opened:
      rows = list(csv.DictReader(opened))
    self.assertEqual(
      [row['path'] for row in rows],
      [f'{file}[{row}]' for row in range(4)]
      + [f'{self._file}[{row}]' for row in range(13)],
    )
    labels = [*_ARRAYS['test_labels'][:4], *_ARRAYS['labels']]
    self.assertEqual([row['class_name'] for row in rows], [*map(str, labels)])

  def test_exports_for_phones(self):
    export = self._folder / 'phones'
    printed = programs.run(
      export_saved_model.main,
      export_saved_model.Export(),
      experiment=self._experiment,
      export_dir=export,
      format='saved_model,tflite_float32,tflite_float16',
      features_file=self._file,
    )
    for line in printed[2:5]:
      self.assertIn('100.0% of 30 images', line)
    self.assertIn(
      'It takes float32 vectors of 6 features',
      (export / 'README.md').read_text(),
    )
    self._assert_fails(
      '^format=.*: all features would share the 8 bits of int8',
      export_saved_model.main,
      export_saved_model.Export(),
      experiment=self._experiment,
      export_dir=export,
      format='tflite_int8',
    )

  def test_a_model_takes_what_it_was_trained_on(self):
    image = self._folder / 'photos' / 'a.png'
    image_tree.write_image(image, 1)
    wide = self._folder / 'wide.npy'
    np.save(wide, np.zeros((2, 7)))
    for images, message in (
      (image, f'{image} cannot be read as arrays'),
      (wide, f'{wide} features: found 7 features; the model takes 6'),
    ):
      self._assert_fails(
        f'^images=.*: {message}',
        predict.main,
        predict.Predict(),
        exported_model=self._export,
        images=images,
        output_file=self._folder / 'none.csv',
      )
    of_images = brightness_model.export(self._folder / 'of_images')
    self._assert_fails(
      '^images=.*small.npz ',
      predict.main,
      predict.Predict(),
      exported_model=of_images['saved_model'],
      images=self._file,
      output_file=self._folder / 'none.csv',
    )


if __name__ == '__main__':
  absltest.main()
