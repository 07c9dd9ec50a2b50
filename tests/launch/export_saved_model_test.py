# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of taking a trained model away, and of using it elsewhere."""

import contextlib
import csv
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
from unittest import mock

from absl.testing import absltest
from absl.testing import flagsaver
from absl.testing import parameterized
import numpy as np
import PIL.Image
import tensorflow as tf
import tensorflow_datasets as tfds

from tests import forked_programs
from tests.data import image_tree
from tests.data import tfds_files
from tests.export import small_model
from tests.launch import trained_experiment
from tff_semifl import settings
from tff_semifl.export import exported_model
from tff_semifl.launch import export_saved_model
from tff_semifl.launch import program
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
      'semifl',
      '--task=digits',
      '--num_clients=10',
      '--clients_per_round=2',
      '--client_epochs=1',
      '--server_epochs=1',
      '--total_rounds=2',
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


class ExportSavedModelTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    self._experiment = self._folder / 'mine'

  def _export(self, **values):
    """Returns what the program prints."""
    values = {'experiment': self._experiment} | values
    printed = io.StringIO()
    with (
      flagsaver.as_parsed(**{k: str(v) for k, v in values.items()}),
      contextlib.redirect_stdout(printed),
    ):
      export_saved_model.main()
    return printed.getvalue()

  def _assert_exported(self, model, path):
    shape = model.input_shape[1:]
    images = small_model.random_images(5, shape)
    np.testing.assert_allclose(
      exported_model.load(path).predict(images),
      small_model.probabilities(model, images),
      atol=1e-5,
    )

  def _assert_refused(self, message, **values):
    with self.assertRaises(
      (program.FlagError, settings.SettingError)
    ) as raised:
      self._export(**values)
    self.assertRegex(program.describe(raised.exception), f'^flag {message}')

  def test_newest_intact_checkpoint(self):
    intact = trained_experiment.save(self._experiment, round_num=1)
    trained_experiment.save(self._experiment, round_num=2)
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

  @parameterized.parameters(
    {'normalization': 'group'},
    {'model': 'resnet', 'model_width': None},
    {'train_in_bfloat16': True, 'seed': 5, 'clients_per_round': 0},
  )
  def test_models_of_all_kinds(self, **values):
    model = trained_experiment.save(self._experiment, **values)
    self.assertIn('not tested: ', self._export(evaluate='false'))
    self._assert_exported(model, self._experiment / 'export')

  def test_cifar10_needs_no_cifar10(self):
    model = trained_experiment.save(
      self._experiment,
      task='cifar10',
      data_dir=self._folder,
      model_depth=10,
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

    # It is at another place.
    data_dir = self.create_tempdir().full_path
    self._assert_refused(f'--data_dir={data_dir}: .*not in', data_dir=data_dir)
    data = tfds_files.random_cifar10(200, seed=1)
    test = data.select(np.arange(60))
    tfds_files.write_cifar10(data_dir, {'train': data, 'test': test})
    self._export(data_dir=data_dir, format='tflite_int8')
    self.assertIn('of 60 test images', (export / 'README.md').read_text())
    self.assertEqual(
      sorted(path.name for path in export.iterdir()),
      ['README.md', 'confusion_matrix.png', 'labels.txt', 'model_int8.tflite'],
    )
    self.assertEqual(
      exported_model.load(export / 'model_int8.tflite').class_names[0],
      'airplane',
    )

  def test_images_of_ones_own(self):
    images = image_tree.write_tree(self._folder / 'photos')
    model = trained_experiment.save(
      self._experiment, task='image_folder', image_dir=images
    )
    moved = self._folder / 'moved'
    images.rename(moved)
    self._assert_refused(f'--image_dir={images}: .*is missing')
    printed = self._export(image_dir=moved, format='saved_model,tflite_int8')
    self.assertIn('| saved_model | . |', printed)
    export = self._experiment / 'export'
    self._assert_exported(model, export)
    self.assertEqual(exported_model.load(export).class_names, ('cat', 'dog'))
    card = (export / 'README.md').read_text()
    self.assertIn('| data | 4 labeled images, 3 of 3 clients, 3 of', card)
    changed = self._folder / 'changed'
    moved.rename(changed)
    image_tree.write_image(changed / 'server/cat/new.png', 9)
    self._assert_refused(
      r'--experiment=.*/mine: was trained on other data \(4 labeled .* than'
      r' there are now \(5 labeled',
      image_dir=changed,
    )

  @parameterized.parameters(True, False)
  def test_pretrained_weights_are_in_the_experiment(self, freeze_backbone):
    file = self._folder / 'pretrained.h5'
    tf.keras.applications.MobileNet(
      alpha=0.25, include_top=False, weights=None, input_shape=(32, 32, 3)
    ).save_weights(file)
    model = trained_experiment.save(
      self._experiment,
      task='image_folder',
      image_dir=image_tree.write_tree(self._folder / 'photos'),
      image_size='32',
      model='mobilenet',
      model_width=None,
      width_multiplier=0.25,
      weights=file,
      freeze_backbone=freeze_backbone,
    )
    file.unlink()
    self._export(evaluate='false')
    self._assert_exported(model, self._experiment / 'export')
    if freeze_backbone:
      (self._experiment / 'frozen_weights.npz').unlink()
      self._assert_refused('--experiment=.*/mine: lacks frozen_weights.npz')

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

  def test_settings_are_not_given_again(self):
    completed = forked_programs.run('launch.export_saved_model', '--seed=1')
    self.assertEqual(completed.returncode, 1)
    self.assertIn("Unknown command line flag 'seed'", completed.stderr)

  def test_folders_that_are_no_export_are_not_replaced(self):
    trained_experiment.save(self._experiment)
    (self._folder / 'photos').mkdir()
    precious = self._folder / 'photos' / 'precious.png'
    precious.touch()
    for folder, message in (
      ('photos', 'has precious.png in it, which is of no export'),
      ('photos/precious.png', '.*Not a directory'),
      ('.', 'has .* in it, which is of no export'),
    ):
      path = self._folder / folder
      self._assert_refused(f'--export_dir={path}: {message}', export_dir=path)
    self._assert_refused(
      '--export_dir=/proc/nothing: cannot write /proc/nothing: .*stays as it',
      export_dir='/proc/nothing',
    )
    self.assertTrue(precious.exists())

  def test_earlier_export_stays_if_the_new_one_fails(self):
    trained_experiment.save(self._experiment)
    self._export(evaluate='false')
    export = self._experiment / 'export'
    before = sorted(export.rglob('*'))
    with (
      mock.patch.object(
        tf.lite.TFLiteConverter, 'convert', side_effect=OSError
      ),
      self.assertRaises(program.FlagError),
    ):
      self._export(format='tflite')
    self.assertEqual(sorted(export.rglob('*')), before)

  def test_integers_are_not_for_group_normalization(self):
    trained_experiment.save(self._experiment, normalization='group')
    self._assert_refused(
      '--format=tflite: group normalization needs more', format='tflite'
    )

  def test_format_that_there_is_not(self):
    with self.assertRaisesRegex(Exception, 'must be some of saved_model, tfli'):
      self._export(format='onnx')


if __name__ == '__main__':
  absltest.main()
