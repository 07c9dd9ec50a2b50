# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of predictions with the class shares of a site."""

import csv
import math
import pathlib
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from launch import evaluate
from launch import predict
from tests.data import image_tree
from tests.export import brightness_model
from tests.launch import programs
from tff_semifl import settings
from tff_semifl.label_shift import input_shift
from tff_semifl.label_shift import share_prior

# Brightness, its deviation in an image, and its change between pixels.
_INPUTS = input_shift.InputMoments(
  (120.0,) * 3 + (0.0,) * 6, (900.0,) * 9, (900.0,) * 9
)
_PRIOR = share_prior.SharePrior((0.5, 0.5), 1.0, 1.0, 0.6, inputs=_INPUTS)


class SiteSharesTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._folder = pathlib.Path(
      tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
    )
    cls._models = brightness_model.export(cls._folder, prior=_PRIOR)

  def setUp(self):
    super().setUp()
    self._photos = pathlib.Path(self.create_tempdir().full_path)
    folder = pathlib.Path(self.create_tempdir().full_path)
    self._output = folder / 'predictions.csv'

  def _write(self, levels):
    for number, level in enumerate(levels):
      image_tree.write_image(
        self._photos / 'cat' / f'{number:02}.png', level, size=(16, 16)
      )

  def _predict(self, model='saved_model', **values):
    return programs.run(
      predict.main,
      predict.Predict(),
      **{
        'exported_model': self._models.get(model, model),
        'images': self._photos,
        'output_file': self._output,
        'overwrite': True,
        **values,
      },
    )

  def _read(self, path):
    with path.open(newline='') as file:
      return list(csv.DictReader(file))

  @parameterized.parameters('saved_model', 'tflite')
  def test_estimates_shares_and_predicts_with_them(self, model):
    # Dark images of cats, and one image that is a bit too bright for a cat.
    self._write([60] * 19 + [150])
    lines = self._predict(model, adapt_shares=True)
    self.assertIn('class shares of 20 images', lines[1])
    self.assertEqual(lines[2], 'with these shares 1 of 20 images change class')
    shares = [
      float(row['share'])
      for row in self._read(self._output.with_suffix('.class_shares.csv'))
    ]
    self.assertBetween(shares[0], 0.9, 1)
    self.assertAlmostEqual(sum(shares), 1, places=5)
    dog = brightness_model.probability_of_dog(150)
    odds = dog / (1 - dog) * shares[1] / shares[0]
    row = self._read(self._output)[-1]
    self.assertEqual(row['class_name'], 'cat')
    self.assertAlmostEqual(
      float(row['probability']), 1 / (1 + odds), delta=0.003
    )

  def test_tells_how_foreign_images_are(self):
    levels = (100, 119, 150)
    self._write(levels)
    entropies = [
      -p * math.log2(p) - (1 - p) * math.log2(1 - p)
      for p in map(brightness_model.probability_of_dog, levels)
    ]
    # Half of the images in training have less entropy than that of level 150.
    quantiles = np.interp(np.arange(101), [0, 50, 100], [0, entropies[2], 1])
    model = brightness_model.export(
      pathlib.Path(self.create_tempdir().full_path),
      prior=_PRIOR._replace(entropies=tuple(quantiles)),
    )['saved_model']
    self._predict(model)
    rows = self._read(self._output)
    for row, each in zip(rows, entropies, strict=True):
      expected = np.interp(each, [0, entropies[2], 1], [0, 0.5, 1])
      self.assertAlmostEqual(float(row['foreign']), expected, delta=1e-3)

  def test_earlier_shares_are_not_replaced_unasked(self):
    self._write([60] * 20)
    self._output.with_suffix('.class_shares.csv').write_text('mine')
    with self.assertRaisesRegex(settings.SettingError, 'shares.csv: exists'):
      self._predict(adapt_shares=True, overwrite=False)
    self.assertFalse(self._output.exists())

  def test_shares_of_a_file(self):
    self._write([150])
    table = self._photos / 'shares.csv'
    table.write_text('class_name,share\ndog,1\ncat,9\n')
    self._predict(
      images=self._photos / 'cat', class_shares=table, all_probabilities=True
    )
    (row,) = self._read(self._output)
    dog = brightness_model.probability_of_dog(150)
    expected = 1 / (1 + dog / (1 - dog) / 9)
    self.assertAlmostEqual(float(row['probability/cat']), expected, delta=1e-3)

  def test_evaluates_with_shares(self):
    self._write([60] * 19 + [150])
    lines = programs.run(
      evaluate.main,
      evaluate.create,
      exported_model=self._models['saved_model'],
      images=self._photos,
      adapt_shares=True,
    )
    self.assertStartsWith(
      lines[0], "accuracy with the labels' class shares: 95"
    )
    self.assertStartsWith(lines[3], 'accuracy: 100')

  def test_images_unlike_training_get_a_warning(self):
    self._write([250] * 20)
    with self.assertLogs(level='WARNING') as logs:
      self._predict(adapt_shares=True)
    self.assertIn('unlike those of training', ''.join(logs.output))
    self._write([120] * 20)
    with self.assertNoLogs(level='WARNING'):
      self._predict(adapt_shares=True)

  @parameterized.parameters(
    ([60], {'adapt_shares': True}, 'adapt_shares', 'too few'),
    (
      [60],
      {'class_shares': 'a', 'adapt_shares': True},
      'class_shares',
      'leave',
    ),
    ([60], {'class_shares': 'missing.csv'}, 'class_shares', 'No such file'),
  )
  def test_is_refused(self, levels, values, name, reason):
    self._write(levels)
    with self.assertRaisesRegex(settings.SettingError, f'^{name}=.*{reason}'):
      self._predict(**values)
    self.assertFalse(self._output.exists())

  @parameterized.parameters(
    ('class_name\ncat\n', 'columns class_name and share'),
    ('class_name,share\ncat,1\n', 'lacks class dog'),
    ('class_name,share\ncat,1\nbird,1\n', 'no class bird'),
    ('class_name,share\ncat,1\ncat,1\n', 'class cat twice'),
    ('class_name,share\ncat,1\ndog,-1\n', '0 or above'),
    ('class_name,share\ncat,0\ndog,0\n', 'not all 0'),
    ('class_name,share\ncat,much\ndog,0\n', 'much'),
  )
  def test_file_of_shares_is_checked(self, text, reason):
    self._write([60])
    table = self._photos / 'shares.csv'
    table.write_text(text)
    with self.assertRaisesRegex(
      settings.SettingError, f'^class_shares=.*{reason}'
    ):
      self._predict(images=self._photos / 'cat', class_shares=table)

  @parameterized.parameters(
    (None, 'no prior of class shares'),
    (_PRIOR._replace(strength=math.inf), 'had equal class shares'),
  )
  def test_model_must_know_how_sites_differ(self, prior, reason):
    folder = pathlib.Path(self.create_tempdir().full_path)
    models = brightness_model.export(folder, prior=prior)
    self._write([60] * 20)
    with self.assertRaisesRegex(settings.SettingError, reason):
      self._predict(models['tflite'], adapt_shares=True)


if __name__ == '__main__':
  absltest.main()
