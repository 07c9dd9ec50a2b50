# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the program that predicts the classes of images."""

import csv
import pathlib
import subprocess
import sys
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import pytest

from launch import predict
from tests.data import image_tree
from tests.export import brightness_model
from tests.launch import programs
from tests.repository import source_tree
from tff_semifl import settings


class PredictTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._models = brightness_model.export(
      pathlib.Path(tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir()))
    )

  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.create_tempdir().full_path)
    self._photos = folder / 'photos'
    self._output = folder / 'new' / 'predictions.csv'
    self._levels = {'a.png': 45, 'b/c.jpg': 185, 'b/d.png': 105}
    for name, level in self._levels.items():
      size = (40, 9) if name == 'b/d.png' else (16, 16)
      image_tree.write_image(self._photos / name, level, size=size)

  def _predict(self, model='saved_model', **values):
    """The output of the program."""
    values = {
      'exported_model': self._models.get(model, model),
      'images': self._photos,
      'output_file': self._output,
    } | values
    return programs.run(predict.main, predict.Predict(), **values)

  def _rows(self):
    with self._output.open(newline='') as file:
      return list(csv.DictReader(file))

  @pytest.mark.slow
  def test_needs_no_tff(self):
    code = (
      "import sys; sys.modules['tensorflow_federated'] = None;"
      ' import launch.predict'
    )
    subprocess.run(
      [sys.executable, '-c', code], cwd=source_tree.PROJECT_ROOT, check=True
    )

  @parameterized.parameters('saved_model', 'tflite')
  def test_folder(self, model):
    printed = self._predict(model)
    self.assertEqual(printed[0], 'images: 3')
    self.assertEqual(printed[-1], f'table: {self._output}')
    rows = self._rows()
    self.assertLen(rows, 3)
    for row, (name, level) in zip(rows, self._levels.items(), strict=True):
      self.assertEqual(list(row), ['path', 'class_name', 'probability'])
      self.assertEqual(row['path'], str(self._photos / name))
      dog = brightness_model.probability_of_dog(level)
      self.assertEqual(row['class_name'], 'dog' if dog > 0.5 else 'cat')
      self.assertAlmostEqual(
        float(row['probability']), max(dog, 1 - dog), delta=1e-4
      )

  def test_files_and_probabilities_of_all_classes(self):
    files = [self._photos / 'b/c.jpg', self._photos / 'a.png']
    self._predict(images=','.join(map(str, files)), all_probabilities='true')
    rows = self._rows()
    self.assertEqual([row['path'] for row in rows], [str(f) for f in files])
    for row, level in zip(rows, (185, 45), strict=True):
      dog = brightness_model.probability_of_dog(level)
      self.assertEqual(list(row)[3:], ['probability/cat', 'probability/dog'])
      self.assertAlmostEqual(float(row['probability/dog']), dog, delta=1e-4)
      self.assertAlmostEqual(float(row['probability/cat']), 1 - dog, delta=1e-4)

  def test_existing_table_is_replaced_if_told_to(self):
    self._output.parent.mkdir()
    self._output.write_text('old')
    with self.assertRaisesRegex(
      settings.SettingError, f'^output_file={self._output}: .*--overwrite'
    ):
      self._predict()
    self.assertEqual(self._output.read_text(), 'old')
    self._predict(overwrite='true')
    self.assertLen(self._rows(), 3)

  def test_unreadable_files_are_all_named_and_nothing_is_written(self):
    self._output.parent.mkdir()
    self._output.write_text('old')
    for name in ('b/e.png', 'notes.txt'):
      (self._photos / name).write_text('no image')
    with self.assertRaisesRegex(
      settings.SettingError,
      f'^images={self._photos}: {self._photos}/b/e.png is no JPEG, .*'
      f' image; {self._photos}/notes.txt is no JPEG, .* image$',
    ):
      self._predict(overwrite='true')
    self.assertEqual(self._output.read_text(), 'old')
    self.assertEqual(list(self._output.parent.iterdir()), [self._output])

  @parameterized.parameters(
    ({'exported_model': ''}, 'exported_model=: '),
    ({'images': 'nowhere'}, 'images=nowhere: '),
    ({'output_file': '/proc/no/a.csv'}, 'output_file=/proc/no/a.csv: '),
  )
  def test_bad_flags_are_named(self, values, message):
    with self.assertRaisesRegex(settings.SettingError, f'^{message}'):
      self._predict(**values)


if __name__ == '__main__':
  absltest.main()
