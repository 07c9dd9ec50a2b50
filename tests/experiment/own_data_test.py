# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of tasks of images that a Python program passes."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.experiment import own_data

# 6 images of 8x8 pixels with all gray levels up to 191.
_IMAGES = (np.arange(6 * 64) // 2).astype(np.uint8).reshape(6, 8, 8, 1)
_LABELS = np.array([0, 1, 2, 0, 1, 2])
_TRAIN = (_IMAGES, _LABELS)
_TEST = (_IMAGES[2:4], _LABELS[2:4])
_POOL = _IMAGES[::-1]


class OwnDataTest(parameterized.TestCase, tf.test.TestCase):
  def _assert_labeled(self, found, images, labels):
    self.assertAllEqual(found.images, images)
    self.assertAllEqual(found.labels, labels)
    self.assertEqual(found.labels.dtype, np.int32)

  def test_clients_have_their_own_images(self):
    task = own_data.own_data(
      _TRAIN, _TEST, clients={'ann': _POOL[:4], 'bob': _POOL[4:]}
    )
    data = task.load()
    self._assert_labeled(data.train, *_TRAIN)
    self._assert_labeled(data.test, *_TEST)
    self.assertAllEqual(data.unlabeled, _POOL)
    self.assertSequenceEqual(
      [share.tolist() for share in data.shares], [[0, 1, 2, 3], [4, 5]]
    )
    self.assertEqual(task.num_labeled, 6)

  def test_labels_at_some_clients(self):
    names = np.array(['cat', 'cow', 'dog'])
    clients = {
      'ann': (_POOL[:2], ['dog', '']),
      'bob': _POOL[2:4],
      'cy': _POOL[4:],
    }
    for train in (None, (_IMAGES, names[_LABELS])):
      data = own_data.own_data(
        train,
        (_IMAGES, names[_LABELS]),
        clients=clients,
        unlabeled_labels=[None, None, ['cow', 'cow']],
      ).load()
      # The third client has labels for metrics alone.
      self.assertEqual(data.labeled_clients, [0])
      self.assertAllEqual(data.unlabeled_labels, [2, -1, -1, -1, 1, 1])
      self.assertLen(data.train.labels, 0 if train is None else 6)
    labels = [0, 1]
    described = [
      own_data.own_data(_TRAIN, _TEST, clients=[pool], unlabeled_labels=known)
      for pool, known in (((_POOL[:2], labels), None), (_POOL[:2], [labels]))
    ]
    self.assertNotEqual(*(each.data_description for each in described))

  def test_shares_by_settings(self):
    task = own_data.own_data(_TRAIN, _TEST, num_labeled=3)
    data = task.load()
    self.assertEqual(task.num_labeled, 3)
    self.assertIsNone(data.unlabeled)
    self.assertIsNone(data.shares)
    data = own_data.own_data(
      _TRAIN, _TEST, num_labeled=3, unlabeled=_POOL
    ).load()
    self.assertAllEqual(data.unlabeled, _POOL)
    self.assertIsNone(data.shares)

  def test_task_suits_the_images(self):
    names = np.array(['cow', 'cat', 'dog'])
    task = own_data.own_data(
      (_IMAGES, names[_LABELS]), (_IMAGES, names[_LABELS]), num_labeled=3
    )
    self.assertEqual(task.image_shape, (8, 8, 1))
    self.assertEqual(task.class_names, ('cat', 'cow', 'dog'))
    # cow, cat, dog are 1, 0, 2.
    self._assert_labeled(
      task.load().train, _IMAGES, np.array([1, 0, 2, 1, 0, 2])
    )
    # Pixels are 0 to 191, each twice. Their mean is 95.5, and their variance
    # (192^2 - 1) / 12.
    self.assertAllClose(task.pixel_mean, [95.5 / 255])
    self.assertAllClose(
      task.pixel_standard_deviation, [np.sqrt((192**2 - 1) / 12) / 255]
    )
    given = own_data.own_data(
      _TRAIN, _TEST, num_labeled=3, class_names=['dog', 'cat', 'cow']
    )
    self.assertEqual(given.class_names, ('dog', 'cat', 'cow'))

  @parameterized.parameters({'num_labeled': 4}, {'clients': [_IMAGES]})
  def test_class_without_a_label_is_refused(self, **how):
    with self.assertRaisesRegex(ValueError, '^train: .*no image of class gnu'):
      own_data.own_data(
        _TRAIN, _TEST, class_names=['cat', 'cow', 'dog', 'gnu'], **how
      )

  def test_accents_may_be_written_in_two_ways(self):
    composed, decomposed = 'caf\u00e9', 'cafe\u0301'
    train = (_IMAGES, [composed, decomposed, 'b', 'b', 'b', composed])
    test = (_IMAGES[2:4], [decomposed.encode(), b'b'])
    for class_names in (None, ['b', decomposed]):
      task = own_data.own_data(
        train, test, clients=[_IMAGES], class_names=class_names
      )
      self.assertEqual(task.class_names, ('b', composed))
      data = task.load()
      self.assertAllEqual(data.train.labels, [1, 1, 0, 0, 0, 1])
      self.assertAllEqual(data.test.labels, [1, 0])

  def test_description_tells_data_apart(self):
    kinds = [
      {'num_labeled': 3},
      {'num_labeled': 3, 'unlabeled': _POOL},
      {'clients': [_POOL[:2], _POOL[2:]]},
      {'clients': [_POOL[:3], _POOL[3:]]},
    ]
    descriptions = {
      own_data.own_data(_TRAIN, _TEST, **kind).data_description
      for kind in kinds
    }
    self.assertLen(descriptions, len(kinds))
    again = own_data.own_data(_TRAIN, _TEST, **kinds[0])
    self.assertIn(again.data_description, descriptions)

  @parameterized.named_parameters(
    (
      'both_ways',
      {'clients': [_POOL], 'unlabeled': _POOL},
      'clients: ',
    ),
    (
      'numbers_twice',
      {'clients': [_POOL], 'num_labeled': 3},
      'clients: found unlabeled or num_labeled',
    ),
    (
      'no_labels_at_the_server',
      {'num_labeled': 0},
      'num_labeled: ',
    ),
    (
      'half_an_image',
      {'num_labeled': 1.5},
      'num_labeled: ',
    ),
    (
      'another_size',
      {'test': (np.zeros((2, 9, 8)), [0, 1]), 'num_labeled': 3},
      'test: ',
    ),
    (
      'labels_for_training_and_for_metrics',
      {
        'clients': {'ann': (_POOL, _LABELS)},
        'unlabeled_labels': [_LABELS],
      },
      "client 'ann' has labels for training and for metrics",
    ),
    (
      'labels_without_images',
      {'unlabeled_labels': [_LABELS]},
      'unlabeled_labels: found some, but no clients',
    ),
    (
      'label_of_no_class',
      {'clients': [(_POOL, [0, 1, 2, 3, 0, 0])]},
      r'clients\[0\]: found the label 3',
    ),
    (
      'another_order',
      {
        'clients': {'ann': _POOL, 'bob': _POOL},
        'unlabeled_labels': {'bob': _LABELS, 'ann': None},
      },
      'unlabeled_labels: found other names, or another order',
    ),
    ('no_labels', {'train': None, 'clients': [_POOL]}, 'train: found None'),
    (
      'clients_without_images',
      {'clients': {'ann': _POOL[:0], 'bob': _POOL[:0]}},
      'clients: ',
    ),
  )
  def test_refuses(self, given, message):
    with self.assertRaisesRegex(ValueError, f'^{message}'):
      own_data.own_data(**{'train': _TRAIN, 'test': _TEST, **given})


class OwnTaskTest(tf.test.TestCase):
  def test_without_its_program_there_is_no_task(self):
    with self.assertRaisesRegex(settings.SettingError, 'task=own_data: '):
      own_data.OwnTask().create()


if __name__ == '__main__':
  tf.test.main()
