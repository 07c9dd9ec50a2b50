# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of real programs that export, evaluate and predict."""

import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from absl.testing import absltest
import numpy as np
import PIL.Image
import pytest

from tasks import digits
from tests import forked_programs
from tests import small_digits
from tff_semifl.export import exported_model

_ROOT = pathlib.Path(__file__).parents[2]
# Runs programs without TFF in forks of one process, because importing
# TensorFlow is slow.
_WITHOUT_TFF = """
import json, os, runpy, sys
sys.modules['tensorflow_federated'] = None
import tensorflow
for command in json.loads(sys.argv[1]):
  pid = os.fork()
  if not pid:
    sys.argv = command
    runpy.run_module(command[0], run_name='__main__', alter_sys=True)
    sys.exit()
  if os.waitpid(pid, 0)[1]:
    sys.exit(1)
"""


def _run(module, *arguments):
  """Runs a program, and returns its output."""
  return _printed(forked_programs.run(module, *arguments))


def _run_without_tff(*commands):
  """Runs programs without TFF, and returns their outputs."""
  return _printed(
    subprocess.run(
      [sys.executable, '-c', _WITHOUT_TFF, json.dumps(commands)],
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


@pytest.mark.slow
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
      f'--model={small_digits.SETTINGS["model"]}',
      '--total_epochs=3',
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
      row[0].removeprefix('| '): row[3].partition(' of ')[0] for row in rows
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

  def test_evaluate_and_predict_without_tff(self):
    folder = self._experiment.parent
    images = folder / 'images'
    images.mkdir()
    for number in range(20):
      PIL.Image.fromarray(self._test.images[number, ..., 0]).save(
        images / f'{number:02}.png'
      )
    table = folder / 'predictions.csv'
    models = {
      'saved_model': self._export,
      'tflite_int8': self._export / 'model_int8.tflite',
    }
    printed = ''.join(
      _run(
        'launch.evaluate',
        f'--exported_model={model}',
        '--task=digits',
        f'--output_file={folder}/{name}.json',
      )
      for name, model in models.items()
    )
    _run_without_tff(
      [
        'launch.predict',
        f'--exported_model={self._export}',
        f'--images={images}',
        f'--output_file={table}',
        '--all_probabilities',
      ],
    )
    accuracies = [self._accuracies()[name] for name in models]
    self.assertEqual(
      re.findall('^accuracy: (.*) of 360 images', printed, re.MULTILINE),
      accuracies,
    )
    for name, accuracy in zip(models, accuracies, strict=True):
      with self.subTest(name):
        results = json.loads((folder / f'{name}.json').read_text())
        self.assertEqual(f'{results["accuracy"]:.1%}', accuracy)
        self.assertEqual(
          np.sum(results['confusion'], axis=1).tolist(),
          np.bincount(self._test.labels).tolist(),
        )
    with self.subTest('predict'):
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
