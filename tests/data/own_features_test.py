# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of feature vectors in the forms that people have."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.data import own_clients
from tff_semifl.data import own_features

_FEATURES = np.random.default_rng(0).standard_normal((6, 4), np.float32)
_IMAGES = np.arange(6 * 64, dtype=np.uint8).reshape(6, 8, 8, 1)


def _with(value, row=2, column=3):
  features = _FEATURES.copy()
  features[row, column] = value
  return features


class OwnFeaturesTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(np.float16, np.float64)
  def test_floats_become_float32(self, dtype):
    given = _FEATURES.astype(dtype)
    found = own_features.convert_examples('train', given)
    self.assertEqual(found.dtype, np.float32)
    self.assertAllEqual(found, given.astype(np.float32))

  def test_float32_is_not_copied(self):
    self.assertIs(own_features.convert_examples('train', _FEATURES), _FEATURES)

  def test_sequence_of_vectors(self):
    found = own_features.convert_examples('train', list(_FEATURES * 1000))
    self.assertAllEqual(found, _FEATURES * 1000)
    # As images, these two would be of different scales.
    small = [np.array([0.5, 0.25]), np.array([200.0, 3.0])]
    self.assertAllEqual(own_features.convert_examples('train', small), small)

  def test_images_stay_images(self):
    self.assertIs(
      own_features.convert_examples('train', _IMAGES).dtype, _IMAGES.dtype
    )

  @parameterized.named_parameters(
    ('integers', np.arange(12).reshape(6, 2), r'int64 of shape \(6, 2\)'),
    (
      'no_vector',
      _FEATURES[:0],
      r'float32 of shape \(0, 4\), without a vector',
    ),
    ('nan', _with(np.nan), 'nan in row 2, column 3'),
    (
      'more_than_float32_has',
      _FEATURES.astype(np.float64) * 1e300,
      r'1\.11\d+e\+300 in row 0, column 0',
    ),
  )
  def test_refuses(self, features, message):
    with self.assertRaisesRegex(ValueError, f'^train: found -?{message}'):
      own_features.convert_examples('train', features)

  def test_measures_by_feature(self):
    # The last feature is constant.
    features = np.array([[1, 10, 0.1], [3, 50, 0.1]], np.float32)
    mean, deviation = own_features.measure(features)
    self.assertAllClose(mean, [2, 30, 0.1])
    self.assertAllClose(deviation, [1, 20, 1])
    own_features.check_server('train', features)
    with self.assertRaisesRegex(
      ValueError, '^train: found the same values in all 3 feature vectors'
    ):
      own_features.check_server('train', features[[0, 0, 0]])
    features[1, 2] = -1e20
    with self.assertRaisesRegex(
      ValueError, r'^train: found -1e\+20 in row 1, column 2; give'
    ):
      own_features.check_server('train', features)


class ClientsTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.named_parameters(
    ('arrays', [_FEATURES[:4], _FEATURES[:0], _FEATURES[4:]]),
    ('by_name', {'a': _FEATURES[:4], 'b': [], 'c': list(_FEATURES[4:])}),
    (
      'datasets',
      [
        tf.data.Dataset.from_tensor_slices(_FEATURES[:4]).batch(3),
        tf.data.Dataset.from_tensor_slices(_FEATURES[:0]),
        tf.data.Dataset.from_tensor_slices((_FEATURES[4:], [0, 1])).batch(2),
      ],
    ),
  )
  def test_concatenates(self, clients):
    found, shares, _ = own_clients.concatenate('clients', clients)
    self.assertEqual(found.dtype, np.float32)
    self.assertAllEqual(found, _FEATURES)
    self.assertSequenceEqual(
      [share.tolist() for share in shares], [[0, 1, 2, 3], [], [4, 5]]
    )

  @parameterized.named_parameters(
    (
      'other_features',
      [_FEATURES, _FEATURES[:, :3]],
      r'clients\[1\]: found feature vectors of shape',
    ),
    ('images', [_FEATURES, _IMAGES], r'clients\[1\]: found images of shape'),
    (
      'nan',
      {'ann': _FEATURES, 'bob': _with(np.nan)},
      r"clients\['bob'\]: found nan in row 2, column",
    ),
  )
  def test_refuses(self, clients, message):
    with self.assertRaisesRegex(ValueError, f'^{message}'):
      own_clients.concatenate('clients', clients)


if __name__ == '__main__':
  tf.test.main()
