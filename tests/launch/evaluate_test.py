# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of measuring an exported model on images."""

import contextlib
import io
import json
import math
import pathlib
import tempfile
from unittest import mock

from absl.testing import absltest
from absl.testing import flagsaver
from absl.testing import parameterized
import numpy as np

from launch import evaluate
from tests import forked_programs
from tests.data import image_tree
from tests.export import brightness_model
from tff_semifl import settings
from tff_semifl.command_line import program
from tff_semifl.data import sources
from tff_semifl.experiments import image_task
from tff_semifl.experiments import task_registry
from tff_semifl.runs import intervals


def _describe(values, printed):
  """Yields lines with values, whose intervals are as printed."""
  for (name, value), line in zip(values.items(), printed, strict=True):
    yield f'{name}: {value:.3f} ({line.partition("(")[2]}'


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

  def _evaluate(self, model='saved_model', task=None, **values):
    """Returns what the program prints.

    Args:
      model: One of the models.
      task: Settings of the task by name, its own among them; None for none.
      **values: Of the program's own flags.
    """
    chosen = task and settings.change(task_registry.ChosenTask(), task)
    values = {'exported_model': self._models.get(model, model)} | values
    output = io.StringIO()
    with (
      flagsaver.as_parsed(**{k: str(v) for k, v in values.items()}),
      contextlib.redirect_stdout(output),
    ):
      evaluate.main(chosen)
    return output.getvalue().splitlines()

  @parameterized.parameters('saved_model', 'tflite')
  def test_folder_of_class_folders(self, model):
    images = self._folder / 'images'
    for name, level, size in (
      ('cat/a.png', 45, (16, 16)),
      ('cat/b.png', 165, (16, 16)),
      # One level, whatever the size.
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
    confident = {
      floor: [
        (probability(level) > 0.5) == is_dog
        for level, is_dog in ((45, 0), (165, 0), (105, 0), (185, 1))
        if max(probability(level), 1 - probability(level)) >= floor
      ]
      for floor in (0.5, 0.8, 0.9, 0.95, 0.99)
    }
    # Two are in one fifteenth of 0..1, and both are right.
    calibration_error = (
      sum(
        abs(
          max(probability(level), 1 - probability(level))
          - ((probability(level) > 0.5) == is_dog)
        )
        for level, is_dog in ((45, 0), (165, 0), (105, 0), (185, 1))
      )
      / 4
    )
    # Its mean level tells what is made of noise.
    noise = np.random.default_rng(0).integers(
      256, size=(200, 16, 16, 3), dtype=np.uint8
    )
    dogs = np.array([*map(probability, noise.mean(axis=(1, 2, 3)))])
    of_noise = {
      floor: (np.maximum(dogs, 1 - dogs) >= floor).mean() for floor in confident
    }
    self.assertEqual(of_noise[0.5], 1)
    self.assertEqual(of_noise[0.99], 0)
    self.assertRegex(
      printed.pop(2),
      f'^calibration: .* calibration error of {calibration_error:.1%},',
    )
    # Wilson's interval of 3 of 4 is 30.1% to 95.4%.
    self.assertEqual(
      printed,
      [
        'accuracy: 75.0% of 4 images (95% interval 30.1% to 95.4%)',
        f'loss: {loss / 4:.4f}',
        'cat: 66.7% (20.8% to 93.9%) of 3',
        'dog: 100.0% (20.7% to 100.0%) of 1',
        *(
          f'at a confidence of {floor:g} or more: {len(sure) / 4:.1%} of'
          f' images, {intervals.show(sum(sure), len(sure))}'
          f' right; {of_noise[floor]:.1%} of noise'
          for floor, sure in confident.items()
        ),
        # Two of three cats, and the dog; of two dogs one is.
        *_describe(
          {
            'balanced accuracy': (2 / 3 + 1) / 2,
            'macro-F1': (4 / 5 + 2 / 3) / 2,
            # The dog is the likeliest one.
            'AUC, one class against the rest': 1,
          },
          printed[-3:],
        ),
      ],
    )
    self.assertLess(len(confident[0.99]), len(confident[0.5]))
    results = json.loads(json_file.read_text())
    measured = results.pop('metrics')
    self.assertEqual([*measured], ['balanced_accuracy', 'macro_f1', 'auc'])
    self.assertEqual(measured['auc'], {'value': 1.0, 'low': 1.0, 'high': 1.0})
    self.assertAlmostEqual(results.pop('loss'), loss / 4, places=5)
    self.assertAlmostEqual(
      results.pop('calibration_error'), calibration_error, places=5
    )
    by_chance = results.pop('calibration_error_by_chance')
    self.assertBetween(by_chance, 0, calibration_error)
    self.assertBetween(results.pop('mean_confidence'), 0.5, 1)
    self.assertEqual(
      results,
      {
        'accuracy': 0.75,
        'num_images': 4,
        'classes': {
          'cat': {'num_images': 3, 'accuracy': 2 / 3},
          'dog': {'num_images': 1, 'accuracy': 1.0},
        },
        'confident': [
          {
            'floor': floor,
            'num_images': len(sure),
            'num_right': sum(sure),
            'share_of_noise': of_noise[floor],
          }
          for floor, sure in confident.items()
        ],
        'confusion': [[2, 1], [0, 1]],
        'privacy': None,
      },
    )

  def test_class_without_images(self):
    images = self._folder / 'images'
    image_tree.write_image(images / 'dog/a.png', 200)
    json_file = self._folder / 'results.json'
    printed = self._evaluate(images=images, output_file=json_file)
    self.assertEqual(
      printed[3:5], ['cat: unknown of 0', 'dog: 100.0% (20.7% to 100.0%) of 1']
    )
    self.assertStartsWith(
      printed[0], 'accuracy: 100.0% of 1 image of 1 of 2 classes'
    )
    classes = json.loads(json_file.read_text())['classes']
    self.assertIsNone(classes['cat']['accuracy'])

  def test_test_images_of_a_task(self):
    # Of levels 60, a cat, 140 and 150, dogs; and the others are not used.
    tree = image_tree.write_tree(self._folder / 'photos')
    self.assertEqual(
      self._evaluate(task={'task': 'image_folder', 'image_dir': str(tree)})[0],
      'accuracy: 66.7% of 3 images (95% interval 20.8% to 93.9%)',
    )

  @parameterized.named_parameters(
    (
      'no_model',
      {'exported_model': '', 'task': {'task': 'digits'}},
      '--exported_model=: name the folder',
    ),
    (
      'model_that_is_not_there',
      {'exported_model': 'nowhere', 'task': {'task': 'digits'}},
      '--exported_model=nowhere: nowhere is missing',
    ),
    ('nothing_to_test_on', {}, '--images: give either this or --task'),
    (
      'two_things_to_test_on',
      {'task': {'task': 'digits'}, 'images': 'photos'},
      '--images=.*: give either this or --task',
    ),
    ('two_folders', {'images': 'a,b'}, '--images=.*: name one folder'),
    (
      'folder_that_is_not_there',
      {'images': 'nowhere'},
      '--images=nowhere: in nowhere: . is missing or is no folder',
    ),
    (
      'folder_in_place_of_a_file',
      {'images': '{photos}', 'output_file': '/'},
      '--output_file=/: is a folder; name a file in it',
    ),
    (
      'file_that_cannot_be_written',
      {'images': '{photos}', 'output_file': '/proc/nothing/a.json'},
      '--output_file=/proc/nothing/a.json: ',
    ),
  )
  def test_bad_flags_are_named(self, values, message):
    image_tree.write_image(self._folder / 'photos/cat/a.png', 100)
    photos = str(self._folder / 'photos')
    values = {
      k: v.replace('{photos}', photos) if isinstance(v, str) else v
      for k, v in values.items()
    }
    with self.assertRaisesRegex(program.FlagError, f'^flag {message}'):
      self._evaluate(**values)

  def test_images_that_cannot_be_used_are_named(self):
    for name in ('cat/a.png', 'newt/a.png'):
      image_tree.write_image(self._folder / name, 100)
    with self.assertRaisesRegex(
      program.FlagError, 'the model has no class newt; its classes are cat, dog'
    ):
      self._evaluate(images=self._folder)
    (self._folder / 'newt').rename(self._folder / 'dog')
    for name in ('cat/b.png', 'dog/c.png'):
      (self._folder / name).write_text('no image')
    with self.assertRaisesRegex(
      program.FlagError,
      f'^flag --images={self._folder}: .*/cat/b.png is no JPEG, .*'
      ' image; .*/dog/c.png is no JPEG, ',
    ):
      self._evaluate(images=self._folder)

  def test_task_of_other_classes(self):
    with self.assertRaisesRegex(
      settings.SettingError,
      '^task=cifar10: its classes are airplane, .*; those of the model are cat',
    ):
      self._evaluate(task={'task': 'cifar10'})

  def test_task_without_test_images(self):
    tree = image_tree.write_tree(self._folder / 'photos')
    nothing = sources.LabeledImages(
      np.empty([0, 16, 16, 3], np.uint8), np.empty([0], np.int32)
    )
    with (
      mock.patch.object(image_task, 'load_test', return_value=nothing),
      self.assertRaisesRegex(
        settings.SettingError, '^task=image_folder: has no test images$'
      ),
    ):
      self._evaluate(task={'task': 'image_folder', 'image_dir': str(tree)})

  def test_task_of_other_channels(self):
    tree = image_tree.write_tree(self._folder / 'photos')
    with self.assertRaisesRegex(
      settings.SettingError,
      '^task=image_folder: its images have 1 channels, those of the model 3',
    ):
      self._evaluate(
        task={'task': 'image_folder', 'image_dir': str(tree), 'gray': True}
      )

  def test_one_line_for_what_the_real_program_cannot_do(self):
    model = f'--exported_model={self._models["saved_model"]}'
    for arguments, message in (
      ([model], 'flag --images: give either this or --task'),
      ([model, '--task=cifar10'], 'flag --task=cifar10: its classes are airpl'),
      ([model, '--task=birds'], 'flag --task=birds: must be one of digits, '),
      (
        [model, '--task=digits', '--image_dir=photos'],
        'flag --image_dir: it is only for --task=image_folder; leave it out',
      ),
    ):
      completed = forked_programs.run('launch.evaluate', *arguments)
      self.assertEqual(completed.returncode, 1)
      self.assertLen(completed.stderr.splitlines(), 1, completed.stderr)
      self.assertStartsWith(completed.stderr, message)
      self.assertEmpty(completed.stdout)


if __name__ == '__main__':
  absltest.main()
