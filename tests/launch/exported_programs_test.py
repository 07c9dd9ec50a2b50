# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of real programs that export a trained model, and that use it."""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

from absl.testing import absltest
import numpy as np
import PIL.Image

from tests import forked_programs
from tff_semifl.export import exported_model
from tff_semifl.tasks import digits

_ROOT = pathlib.Path(__file__).parents[2]
# Runs a program where TFF cannot be imported.
_WITHOUT_TFF = """
import runpy, sys
sys.modules['tensorflow_federated'] = None
runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)
"""


def _run(module, *arguments):
  """Runs a program, and returns what it prints."""
  return _printed(forked_programs.run(module, *arguments))


def _run_without_tff(module, *arguments):
  return _printed(
    subprocess.run(
      [sys.executable, '-c', _WITHOUT_TFF, module, *arguments],
      cwd=_ROOT,
      capture_output=True,
      text=True,
      timeout=200,
    )
  )


def _printed(completed):
  if completed.returncode:
    raise AssertionError(completed.stderr)
  return completed.stdout


class RealProgramsTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
    cls._experiment = pathlib.Path(folder, 'small')
    cls._trained = _run(
      'launch.train',
      'labels_alone',
      '--task=digits',
      '--total_epochs=3',
      '--model_width=1',
      '--seed=3',
      '--experiment_name=small',
      f'--output_dir={folder}',
    )
    cls._served = exported_model.load(cls._experiment / 'export')
    cls._printed = _run(
      'launch.export_saved_model',
      f'--experiment={cls._experiment}',
      '--format=saved_model,tflite',
    )
    cls._export = cls._experiment / 'export'
    cls._test = digits.Digits().create().load_test_images()

  def _accuracies(self):
    """Returns the accuracies of the table that was printed, by format."""
    rows = [line.split(' | ') for line in self._printed.splitlines()[2:6]]
    return {
      row[0].removeprefix('| '): row[3].removesuffix(' |') for row in rows
    }

  def test_exports_what_training_exports(self):
    found = exported_model.load(self._export)
    np.testing.assert_array_equal(
      found.predict(self._test.images), self._served.predict(self._test.images)
    )

  def test_accuracies_are_those_of_training(self):
    with (self._experiment / 'metrics.csv').open() as file:
      *_, last = csv.DictReader(file)
    accuracy = f'{float(last["test/accuracy"]):.1%}'
    self.assertIn(f'after round 2: {accuracy}', self._trained)
    accuracies = self._accuracies()
    self.assertEqual(accuracies['saved_model'], accuracy)
    self.assertEqual(accuracies['tflite_float32'], accuracy)
    for name in ('tflite_float16', 'tflite_int8'):
      self.assertAlmostEqual(
        float(accuracies[name].removesuffix('%')),
        float(accuracy.removesuffix('%')),
        delta=5,
      )

  def test_card_and_picture_are_there(self):
    card = (self._export / 'README.md').read_text()
    self.assertStartsWith(card, '# small\n')
    for text in ('| task | digits |', '| seed | 3 |', '| rounds | 2 of 2 |'):
      self.assertIn(text, card)
    for line in self._printed.splitlines()[:6]:
      self.assertIn(line, card)
    with PIL.Image.open(self._export / 'confusion_matrix.png') as picture:
      self.assertGreater(min(picture.size), 300)
    self.assertEqual(
      (self._export / 'labels.txt').read_text().split('\n'),
      [str(digit) for digit in range(10)],
    )

  def test_evaluate_needs_no_tff(self):
    json_file = self._experiment.parent / 'results.json'
    for model, name in (
      (self._export, 'saved_model'),
      (self._export / 'model_int8.tflite', 'tflite_int8'),
    ):
      printed = _run_without_tff(
        'launch.evaluate',
        f'--exported_model={model}',
        '--task=digits',
        f'--output_file={json_file}',
      )
      accuracy = self._accuracies()[name]
      self.assertStartsWith(printed, f'accuracy: {accuracy} of 360 images')
      results = json.loads(json_file.read_text())
      self.assertEqual(f'{results["accuracy"]:.1%}', accuracy)
      self.assertEqual(
        np.sum(results['confusion'], axis=1).tolist(),
        np.bincount(self._test.labels).tolist(),
      )

  def test_predict_needs_no_tff(self):
    images = self._experiment.parent / 'images'
    images.mkdir()
    for number in range(20):
      PIL.Image.fromarray(self._test.images[number, ..., 0]).save(
        images / f'{number:02}.png'
      )
    table = self._experiment.parent / 'predictions.csv'
    _run_without_tff(
      'launch.predict',
      f'--exported_model={self._export}',
      f'--images={images}',
      f'--output_file={table}',
      '--all_probabilities',
    )
    with table.open() as file:
      rows = list(csv.DictReader(file))
    np.testing.assert_allclose(
      [
        [float(row[f'probability/{digit}']) for digit in range(10)]
        for row in rows
      ],
      self._served.predict(self._test.images[:20]),
      rtol=1e-4,
    )


if __name__ == '__main__':
  absltest.main()
