# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the task of a user's own images."""

import pathlib
import shutil

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tasks import image_folder
from tests.data import image_tree
from tff_semifl import settings
from tff_semifl.data import data_errors
from tff_semifl.data import image_reading
from tff_semifl.experiment import loaded_task
from tff_semifl.experiment import models

_SEEDS = [tf.constant([1, index]) for index in range(40)]


def _levels(images):
  """The gray level of each image; all pixels of an image are equal."""
  return images[:, 0, 0, 0].tolist()


def _create_task(root, image_size=None, num_channels=3, **kwargs):
  form = image_reading.ImageForm(image_size, num_channels)
  return loaded_task.create_folder_task(root, form, **kwargs)


class ImageFolderTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self._root = pathlib.Path(self.create_tempdir().full_path, 'images')
    image_tree.write_tree(self._root)

  def _create(self, **kwargs):
    return _create_task(str(self._root), **kwargs)

  def test_who_has_what(self):
    task = self._create()
    data = task.load()
    self.assertEqual(task.class_names, ('cat', 'dog'))
    self.assertEqual(task.image_shape, (16, 16, 3))
    self.assertEqual(task.num_labeled, 4)
    self.assertEqual(_levels(data.train.images), [51, 51, 153, 153])
    self.assertAllEqual(data.train.labels, [0, 0, 1, 1])
    self.assertEqual(_levels(data.unlabeled), [20, 30, 40])
    self.assertEqual([list(each) for each in data.shares], [[0, 1], [2], []])
    self.assertEqual(_levels(data.test.images), [60, 140, 150])
    self.assertAllEqual(data.test.labels, [0, 1, 1])

  def test_sites_have_the_images_of_clients(self):
    with self.assertRaisesRegex(
      data_errors.DataError,
      'images/clients has images of clients; leave',
    ):
      self._create(sites=('west', 'east'))
    in_one_place = self._create()
    shutil.rmtree(self._root / 'clients')
    task = self._create(sites=('west', 'east'))
    data, other = task.load(), in_one_place.load()
    for found, expected in zip(
      (*data.train, *data.test), (*other.train, *other.test), strict=True
    ):
      self.assertAllEqual(found, expected)
    # In the order of a folder's files.
    self.assertEqual(data.unlabeled.names, ('east', 'west'))
    self.assertEqual(data.unlabeled.shape, (2, 16, 16, 3))
    self.assertEqual([list(each) for each in data.shares], [[0], [1]])
    self.assertStartsWith(
      task.data_description, '4 labeled images, those of east, west, 3 of'
    )
    self.assertNotEqual(
      self._create(sites=('west', 'eas')).data_description[-16:],
      task.data_description[-16:],
    )

  def test_shades_of_gray(self):
    task = self._create(num_channels=1)
    self.assertEqual(task.image_shape, (16, 16, 1))
    self.assertAllClose(task.pixel_mean, [0.4])
    self.assertAllClose(task.pixel_standard_deviation, [0.2])

  @parameterized.parameters(
    # Four blocks in each group; the shorter side has 8 pixels at the end, or a
    # few more. With five groups there are two blocks in each group.
    ((8, 8), 10),
    ((32, 32), 28),
    ((40, 96), 28),
    ((128, 128), 26),
  )
  @pytest.mark.slow
  def test_depth_suits_the_size(self, size, depth):
    task = self._create(image_size=size)
    self.assertEqual(task.image_shape, (*size, 3))
    self.assertEqual(task.model_depth, depth)
    self.assertEqual(task.model_width, 1 if min(size) >= 128 else 2)
    # A wrong depth would be an error.
    model = models.WideResNet(model_width=1).create(task, seed=0)
    self.assertEqual(model.output_shape, (None, 2))

  @parameterized.parameters(True, False)
  def test_weak_views_are_shifted_by_an_eighth_and_flipped_if_asked(self, flip):
    task = self._create(flip=flip)
    # The value of each pixel is its position.
    rows, columns = np.indices([16, 16], np.uint8)
    image = tf.constant(np.stack([rows, columns, 0 * rows], axis=-1))[None]
    views = [task.weak_augmentation(image, seed)[0].numpy() for seed in _SEEDS]
    # Shifts are at most two of 16 pixels, measured in the middle of the image.
    shifts = {int(view[8, 8, 0]) - 8 for view in views}
    self.assertEqual(shifts, {-2, -1, 0, 1, 2})
    steps = {int(view[8, 9, 1]) - int(view[8, 8, 1]) for view in views}
    self.assertEqual(steps, {1, -1} if flip else {1})

  def test_share_of_each_class_to_test_on_is_spread_evenly(self):
    root = self._root.with_name('without_test')
    levels = {f'server/cat/{k}.png': 10 * k for k in range(10)}
    levels |= {f'server/dog/{k}.png': 100 + 10 * k for k in range(3)}
    image_tree.write_tree(root, levels | {'clients/east/a.png': 1})
    task = _create_task(str(root), test_fraction=0.3)
    data = task.load()
    # Of ten images, the middles of three equal parts: (k + 1/2) * 10 / 3 is
    # 1.7, 5 and 8.3. Of three images 0.9, rounded to one, the middle image.
    self.assertEqual(_levels(data.test.images), [10, 50, 80, 110])
    self.assertAllEqual(data.test.labels, [0, 0, 0, 1])
    self.assertEqual(
      _levels(data.train.images), [0, 20, 30, 40, 60, 70, 90, 100, 120]
    )
    self.assertAllEqual(data.train.labels, [0] * 7 + [1] * 2)
    self.assertEqual(task.num_labeled, 9)
    mean = (20 + 30 + 40 + 60 + 70 + 90 + 100 + 120) / 9 / 255
    self.assertAllClose(task.pixel_mean, [mean] * 3)
    self.assertIn("4 of the server's for testing", task.data_description)

  def test_what_to_test_on_must_be_clear(self):
    with self.assertRaisesRegex(
      data_errors.DataError, 'images/test has images to test on; leave'
    ):
      self._create(test_fraction=0.2)
    shutil.rmtree(self._root / 'test')
    with self.assertRaisesRegex(
      data_errors.DataError,
      'no folder .*images/test; add it, or say which share .* such as 0.2$',
    ):
      self._create()
    (self._root / 'server/dog/b.png').unlink()
    with self.assertRaisesRegex(
      data_errors.DataError,
      'class dog has too few labeled images, 1, to test on 1 and train on',
    ):
      self._create(test_fraction=0.5)

  def test_folder_of_something_else_is_not_said_to_lack_a_test(self):
    shutil.rmtree(self._root / 'server')
    shutil.rmtree(self._root / 'test')
    with self.assertRaisesRegex(data_errors.DataError, 'server is missing'):
      self._create()

  def test_description_tells_data_apart(self):
    first = self._create().data_description
    self.assertRegex(
      first,
      '^4 labeled images, 3 of 3 clients, 3 of the test folder for testing,'
      ' SHA-256 [0-9a-f]{16}$',
    )
    copy = self._root.with_name('copy')
    shutil.copytree(self._root, copy)

    def describe_copy():
      return _create_task(str(copy)).data_description

    self.assertEqual(describe_copy(), first)
    found = [first]
    image_tree.write_image(copy / 'clients/east/b.png', 31)
    found.append(describe_copy())
    # The same images in the same order, but one belongs to another client.
    shutil.move(copy / 'clients/east/b.png', copy / 'clients/north/0.png')
    found.append(describe_copy())
    # Another class of an image, and then another class name.
    shutil.move(copy / 'test/dog/a.png', copy / 'test/cat/b.png')
    found.append(describe_copy())
    shutil.move(copy / 'server/cat', copy / 'server/car')
    shutil.move(copy / 'test/cat', copy / 'test/car')
    found.append(describe_copy())
    self.assertLen(set(found), 5)

  def test_program_reads_a_folder_again_if_it_has_changed(self):
    task = image_folder.ImageFolder(image_dir=str(self._root))
    first = task.create()
    self.assertIs(task.create(), first)
    image_tree.write_image(self._root / 'clients/east/c.png', 35)
    self.assertEqual(_levels(task.create().load().unlabeled), [20, 30, 35, 40])
    nested = self._root / 'clients/north/2026/11/d.png'
    for level in (45, 46):
      image_tree.write_image(nested, level)
      self.assertEqual(
        _levels(task.create().load().unlabeled), [20, 30, 35, level, 40]
      )
    shutil.rmtree(self._root)
    with self.assertRaisesRegex(settings.SettingError, 'is missing'):
      task.create()
