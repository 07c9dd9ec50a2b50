# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of files of feature vectors."""

import pathlib

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests.data import small_features
from tff_semifl.data import feature_files

_ARRAYS = small_features.create()
_NAMES = np.array(['cow', 'cat', 'dog'])


class FeatureFilesTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self._path = pathlib.Path(self.create_tempdir()) / 'features.npz'

  def _read(self, **changes):
    return feature_files.read(small_features.save(self._path, **changes))

  def test_has_server_clients_and_test(self):
    found, class_names = self._read()
    self.assertAllEqual(found.train.images, _ARRAYS['features'])
    self.assertAllEqual(found.train.labels, _ARRAYS['labels'])
    self.assertEqual(found.train.labels.dtype, np.int32)
    self.assertEqual(class_names, ('0', '1', '2'))
    self.assertAllEqual(found.unlabeled, _ARRAYS['client_features'])
    self.assertAllEqual(found.unlabeled_labels, _ARRAYS['client_labels'])
    self.assertAllEqual(found.test.images, _ARRAYS['test_features'])
    self.assertAllEqual(found.test.labels, _ARRAYS['test_labels'])
    # Clients are sorted: a has rows 2, 7, ...
    self.assertSequenceEqual(
      [share.tolist() for share in found.shares],
      [list(range(first, 40, 5)) for first in (2, 1, 4, 3, 0)],
    )
    self.assertEqual(found.client_names, [*'abcde'])
    self.assertTrue(feature_files.has_client_ids(self._path))

  def test_the_least_that_a_file_has(self):
    found, class_names = self._read(
      client_features=None,
      client_ids=None,
      client_labels=None,
      test_features=None,
      test_labels=None,
    )
    self.assertEqual(found.test.images.shape, (0, small_features.NUM_FEATURES))
    self.assertIsNone(found.unlabeled)
    self.assertIsNone(found.unlabeled_labels)
    self.assertIsNone(found.shares)
    self.assertFalse(feature_files.has_client_ids(self._path))

  @parameterized.parameters(np.array, lambda names: np.char.encode(names))
  def test_labels_may_be_names(self, make):
    changes = {
      name: make(_NAMES[_ARRAYS[name]])
      for name in ('labels', 'client_labels', 'test_labels')
    }
    found, class_names = self._read(**changes)
    self.assertEqual(class_names, ('cat', 'cow', 'dog'))
    # cow, cat, dog are 1, 0, 2.
    for labels, name in (
      (found.train.labels, 'labels'),
      (found.unlabeled_labels, 'client_labels'),
      (found.test.labels, 'test_labels'),
    ):
      self.assertAllEqual(labels, np.array([1, 0, 2])[_ARRAYS[name]])
    given, given_names = self._read(**changes, class_names=_NAMES)
    self.assertEqual(given_names, ('cow', 'cat', 'dog'))
    self.assertAllEqual(given.train.labels, _ARRAYS['labels'])

  @parameterized.named_parameters(
    ('no_labels', {'labels': None}, 'has features but no labels'),
    (
      'unknown_array',
      {'client_id': np.zeros(40)},
      'has an array client_id, which nothing reads',
    ),
    (
      'ids_of_nothing',
      {'client_features': None, 'client_labels': None},
      'has client_ids but no client_features',
    ),
    (
      'objects',
      {'labels': np.array([1, 'a', None] * 4 + [1], object)},
      'cannot be read as arrays',
    ),
    (
      'fewer_labels',
      {'labels': _ARRAYS['labels'][1:]},
      'labels: found 13 images and 12 labels',
    ),
    (
      'ids_are_no_ids',
      {'client_ids': np.arange(40) / 2},
      r'client_ids: found float64 of shape \(40,\)',
    ),
    (
      'other_features_of_clients',
      {'client_features': np.zeros((40, 5), np.float32)},
      'client_features: found 5 features',
    ),
    (
      'a_class_of_the_test_alone',
      {'test_labels': np.arange(30) % 4},
      'test_labels: found the label 3',
    ),
  )
  def test_refuses(self, changes, message):
    with self.assertRaisesRegex(ValueError, f'^{message}[^\n]*$'):
      self._read(**changes)

  @parameterized.named_parameters(
    ('missing', None, 'there is no such file'),
    ('empty', b'', 'cannot be read as arrays'),
    ('pickle', b'\x80\x04K\x01.', 'cannot be read as arrays'),
  )
  def test_refuses_other_files(self, content, message):
    if content is not None:
      self._path.write_bytes(content)
    self.assertFalse(feature_files.has_client_ids(self._path))
    for read in (feature_files.read, feature_files.read_vectors):
      with self.assertRaisesRegex(ValueError, f'^{message}[^\n]*$'):
        read(self._path)

  def test_vectors_to_be_classified(self):
    npy = self._path.with_suffix('.npy')
    np.save(npy, _ARRAYS['test_features'])
    self.assertAllEqual(
      feature_files.read_vectors(npy), _ARRAYS['test_features']
    )
    small_features.save(self._path)
    ((keys, vectors), (more_keys, more)) = feature_files.read_batches(
      [self._path, npy], small_features.NUM_FEATURES
    )
    self.assertAllEqual(vectors, _ARRAYS['features'])
    self.assertAllEqual(more, _ARRAYS['test_features'])
    self.assertEqual(keys[12], f'{self._path}[12]')
    self.assertEqual(more_keys[0], f'{npy}[0]')
    with self.assertRaisesRegex(
      ValueError, 'features.npz features: found 6 features;'
    ):
      list(feature_files.read_batches([self._path], 7))
    with self.assertRaisesRegex(ValueError, 'has features but no labels'):
      feature_files.read(npy)

  def test_vectors_to_test_on(self):
    small_features.save(self._path, features=None, labels=None)
    found = feature_files.read_test(self._path, ['0', '1', '2'])
    self.assertAllEqual(found.images, _ARRAYS['test_features'])
    self.assertAllEqual(found.labels, _ARRAYS['test_labels'])
    small_features.save(self._path, test_features=None, test_labels=None)
    with self.assertRaisesRegex(
      ValueError, 'has no array test_features; it has feat'
    ):
      feature_files.read_test(self._path, ['0', '1', '2'])
