# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the program that measures an exported model on images."""

import json
import math
import pathlib
import tempfile

from absl.testing import absltest
from absl.testing import parameterized

from launch import evaluate
from tests.data import image_tree
from tests.export import brightness_model
from tests.launch import programs
from tff_semifl import settings


class EvaluateTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._models = brightness_model.export(
      pathlib.Path(tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir()))
    )

  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)

  def _evaluate(self, model='saved_model', **values):
    """The output of the program."""
    values = {
      'exported_model': self._models.get(model, model),
      **values,
    }
    return programs.run(evaluate.main, evaluate.create, **values)

  @parameterized.parameters('saved_model', 'tflite')
  def test_folder_of_class_folders(self, model):
    images = self._folder / 'images'
    for name, level, size in (
      ('cat/a.png', 45, (16, 16)),
      ('cat/b.png', 165, (16, 16)),
      # Images of one level, so that the size does not matter.
      ('cat/c.png', 105, (40, 9)),
      ('dog/a.jpg', 185, (16, 16)),
    ):
      image_tree.write_image(images / name, level, size=size)
    json_file = self._folder / 'new' / 'results.json'
    printed = self._evaluate(model, images=images, output_file=json_file)
    probability = brightness_model.probability_of_dog
    loss = -math.log(
      (1 - probability(45))
      * (1 - probability(165))
      * (1 - probability(105))
      * probability(185)
    )
    # `scores_test` tests the numbers; Wilson's interval of 3 of 4 is 30.1% to
    # 95.4%.
    self.assertContainsSubset(
      [
        'accuracy: 75.0% of 4 images (95% interval 30.1% to 95.4%)',
        f'loss: {loss / 4:.4f}',
        'cat: 66.7% (20.8% to 93.9%) of 3',
        'dog: 100.0% (20.7% to 100.0%) of 1',
      ],
      printed,
    )
    # Two of three cats and the dog are correct; of two dogs, one is.
    self.assertStartsWith(printed[-3], f'balanced accuracy: {5 / 6:.3f} (')
    self.assertStartsWith(printed[-2], f'macro-F1: {(4 / 5 + 2 / 3) / 2:.3f} (')
    results = json.loads(json_file.read_text())
    self.assertAlmostEqual(results['loss'], loss / 4, places=5)
    self.assertEqual(results['accuracy'], 0.75)
    self.assertBetween(results['calibration_error_by_chance'], 0, 1)
    self.assertBetween(results['calibration_error'], 0, 1)
    self.assertBetween(results['mean_confidence'], 0.5, 1)
    self.assertEqual(results['metrics']['auc']['value'], 1)
    self.assertEqual(
      results['classes'],
      {
        'cat': {'num_images': 3, 'accuracy': 2 / 3},
        'dog': {'num_images': 1, 'accuracy': 1.0},
      },
    )
    self.assertEqual(results['confusion'], [[2, 1], [0, 1]])
    self.assertIsNone(results['privacy'])

  def test_test_images_of_a_task(self):
    # Test levels are 60, a cat, and 140 and 150, dogs; other images are unused.
    tree = image_tree.write_tree(self._folder / 'photos')
    self.assertEqual(
      self._evaluate(task='image_folder', image_dir=tree)[0],
      'accuracy: 66.7% of 3 images (95% interval 20.8% to 93.9%)',
    )

  @parameterized.parameters(
    ({'exported_model': '', 'task': 'digits'}, 'exported_model=: name the fol'),
    ({'exported_model': 'nowhere', 'task': 'digits'}, 'exported_model=nowhere'),
    ({}, 'images: give either this or --task'),
    ({'task': 'digits', 'images': 'a'}, 'images=a: give either this or --task'),
    ({'images': 'nowhere'}, 'images=nowhere: in nowhere: . is missing'),
    ({'output_file': '/proc/nothing/a.json'}, 'output_file=/proc/nothing/a.js'),
    ({'task': 'cifar10'}, 'task=cifar10: its classes are airplane, .*; those'),
    ({'task': 'image_folder', 'gray': True}, 'task=image_folder: .*1 channels'),
  )
  def test_bad_flags_are_named(self, values, message):
    tree = image_tree.write_tree(self._folder / 'photos')
    if 'output_file' in values:
      values = {'images': tree / 'test', **values}
    if 'gray' in values:
      values = {'image_dir': tree, **values}
    with self.assertRaisesRegex(settings.SettingError, f'^{message}'):
      self._evaluate(**values)

  def test_images_that_cannot_be_used_are_named(self):
    for name in ('cat/a.png', 'newt/a.png'):
      image_tree.write_image(self._folder / name, 100)
    with self.assertRaisesRegex(
      settings.SettingError,
      'the model has no class newt; its classes are cat, dog',
    ):
      self._evaluate(images=self._folder)
    (self._folder / 'newt').rename(self._folder / 'dog')
    for name in ('cat/b.png', 'dog/c.png'):
      (self._folder / name).write_text('no image')
    with self.assertRaisesRegex(
      settings.SettingError,
      f'^images={self._folder}: .*/cat/b.png is no JPEG, .*'
      ' image; .*/dog/c.png is no JPEG, ',
    ):
      self._evaluate(images=self._folder)


if __name__ == '__main__':
  absltest.main()
