# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of programs with a user's own images."""

import contextlib
import csv
import io
import json
import pathlib
import shutil

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf

from launch import demo
from launch import show_augmentations
from launch import show_partition
from tests import forked_programs
from tests import small_digits
from tests import small_systems
from tests.augment import photos
from tests.data import image_tree
from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.cli import program
from tff_semifl.experiment import plan


class ImageFolderTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    self._images = image_tree.write_tree(self._folder / 'photos')

  def _command(self, **values):
    """Returns the command that flags of these values make."""
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
      # With two classes no confidence is lower.
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
    with (experiment / 'metrics.csv').open() as file:
      rows = list(csv.DictReader(file))
    self.assertEqual([row['round'] for row in rows], ['0', '1', '2'])
    for row in rows:
      # There are three test images.
      self.assertAlmostEqual(
        float(row['test/accuracy']) * 3,
        round(float(row['test/accuracy']) * 3),
        delta=1e-5,
      )
      self.assertTrue(np.isfinite(float(row['test/loss'])))
      # The classes of clients' images are not known.
      self.assertEqual(row['client/pseudo_accuracy'], '')
      self.assertEqual(row['client/micro_threshold_accuracy'], '')
    for row in rows[1:]:
      # The third has no image.
      self.assertEqual(float(row['client/num_participating']), 2)
      self.assertEqual(float(row['client/label_ratio']), 1)

    served = tf.saved_model.load(str(experiment / 'export'))
    outputs = served.signatures['serving_default'](
      images=tf.zeros([3, 16, 16, 3], tf.uint8)
    )
    # The more probable one, in the order of the folders' names.
    expected = np.array([b'cat', b'dog'])[
      outputs['probabilities'].numpy().argmax(axis=1)
    ]
    np.testing.assert_array_equal(outputs['class_name'], expected)
    hparams = json.loads((experiment / 'hparams.json').read_text())
    self.assertStartsWith(hparams['data'], '4 labeled images, 3 of 3 clients')
    pattern = '1 of 3 test images.*test/dog/b.png = clients/north/a.png'
    self.assertRegex(hparams['notes'][0], pattern)
    for text in (first.stderr, (experiment / 'log.txt').read_text()):
      self.assertRegex(text, pattern)
    flags = hparams['flags']
    self.assertEqual(flags['num_labeled'], 4)
    self.assertEqual(flags['num_clients'], 3)
    self.assertNotIn('partition', flags)
    self.assertEqual(flags['image_size'], '16x16')
    self.assertEqual(flags['on_odd_size'], 'resize')
    # The default is all clients.
    self.assertEqual(flags['clients_per_round'], 3)
    self.assertIs(flags['flip'], True)
    self.assertEqual(flags['strong_augmentation'], 'keras_cv_gentle')

    # The same images at another place.
    moved = self._folder / 'moved' / 'photos'
    moved.parent.mkdir()
    shutil.move(self._images, moved)
    second = self._run(moved)
    self.assertIn('was complete after round 2', second.stderr)
    self.assertEqual(second.stdout, first.stdout)

  def _open(self, **values):
    """Creates or opens the folder of an experiment."""
    command = self._command(
      experiment_name='mine', output_dir=str(self._folder), **values
    )
    command.check_folder()
    return command.run.path

  def _assert_not_resumed(self, message, **values):
    with self.assertRaises(settings.SettingError) as raised:
      self._open(**values)
    self.assertRegex(program.describe(raised.exception), message)

  def test_resumes_with_the_same_images_wherever_they_are(self):
    self._open()
    moved = self._folder / 'moved'
    shutil.move(self._images, moved)
    self._open(image_dir=str(moved))
    changed = self._folder / 'changed'
    shutil.move(moved, changed)
    image_tree.write_image(changed / 'clients/south/new.png', 1)
    image_tree.write_image(changed / 'server/dog/new.png', 1)
    self._assert_not_resumed(
      r'^flag --output_dir=.*/mine holds an experiment on other data'
      r' \(4 labeled images, 3 of .*\) than these \(5 labeled images, 4 of',
      image_dir=str(changed),
    )

  def test_does_not_resume_with_other_flags(self):
    self._open()
    for name, values in (
      ('flip', {'flip': False}),
      ('image_size', {'image_size': '12'}),
    ):
      self._assert_not_resumed(
        f'/mine holds another experiment, with --{name}=', **values
      )

  @pytest.mark.slow
  def test_strong_views_are_those_that_the_flag_names(self):
    images = photos.load_photos(8, 16)
    seed = tf.constant([1, 2])
    views = {}
    for name in (None, 'keras_cv_gentle', 'keras_cv', 'semifl'):
      chosen = {} if name is None else {'strong_augmentation': name}
      task = self._command(**chosen).experiment.data.create_task()
      views[name] = task.strong_augmentation(tf.constant(images), seed).numpy()
    np.testing.assert_array_equal(views[None], views.pop('keras_cv_gentle'))
    self.assertLen(np.unique([*views.values()], axis=0), 3)

  def test_plan(self):
    shutil.rmtree(self._images / 'test')
    command = self._command(test_fraction=0.5, model_depth=7, model_width=1)
    with small_systems.without_process('semifl'):
      described = plan.describe(command.create_experiment())
    self.assertIn("2 of the server's for testing", described['data'])
    self.assertEqual(described['labeled_images'], 2)
    self.assertEqual(described['test_images'], 2)
    self.assertEqual(described['clients_per_round'], 3)
    self.assertEqual(described['unlabeled_images_at_clients'], 3)
    self.assertEqual(described['image_shape'], (16, 16, 3))
    self.assertEqual(described['flags']['total_rounds'], 80)
    self.assertEqual(described['flags']['test_fraction'], 0.5)
    # The plan is valid JSON.
    json.dumps(described)

  def test_demonstration_is_quick_unless_chosen_otherwise(self):
    given = {'task': 'image_folder', 'image_dir': str(self._images)}
    quick = demo.create('semifl', given)
    values = settings.as_dict(quick)
    self.assertLess(values['total_rounds'], 80)
    self.assertEqual(values['client_epochs'], 1)
    for chosen in (
      {'image_size': '64', 'total_rounds': 3},
      {'model': 'resnet', 'client_epochs': 2},
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
    # Labels went with their images.
    np.testing.assert_array_equal(
      found[0].labeled.labels, np.array(levels[0]) == 153
    )

  def test_pictures(self):
    partition_file = self._folder / 'partition.png'
    augmentations_file = self._folder / 'augmentations.png'
    chosen = self._command(strong_augmentation='fixmatch').experiment.data
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
      show_partition.main(
        show_partition.ShowPartition(output_file=(str(partition_file),)), chosen
      )
      show_augmentations.main(
        show_augmentations.ShowAugmentations(
          output_file=str(augmentations_file), num_images=1
        ),
        chosen,
      )
    lines = output.getvalue().splitlines()
    # In each class, two of the server's images are equal.
    (equal,) = (line for line in lines if line.startswith('note:'))
    self.assertRegex(equal, '2 of 4 .*server/(cat/a.png|dog/a.png) = server/')
    self.assertContainsSubset(
      [
        'images with labels: 4',
        'images without: 3, of which 0 with no client',
        'images per client: 0 at least, 1 in the median, 2 at most',
      ],
      lines,
    )
    self.assertTrue(any('unknown' in line for line in lines))
    self.assertTrue(partition_file.exists())
    self.assertTrue(augmentations_file.exists())


if __name__ == '__main__':
  absltest.main()
