# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the forms of clients' images and features."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.experiment import own_data

_IMAGES = np.arange(6 * 64, dtype=np.uint8).reshape(6, 8, 8, 1)
# The clients have 3, 1 and 2 of these images.
_PARTS = [_IMAGES[:3], _IMAGES[3:4], _IMAGES[4:]]
_FEATURES = np.random.default_rng(0).standard_normal((6, 4), np.float32)


class ConcatenateTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.named_parameters(
    ('list', _PARTS),
    ('by_name', dict(zip('cab', _PARTS, strict=True))),
    # All images of a client may be dark.
    ('floats_in_0_to_1', [part / 255 for part in _PARTS]),
    ('datasets', [*map(tf.data.Dataset.from_tensor_slices, _PARTS)]),
    (
      'batched_datasets_with_labels',
      [
        tf.data.Dataset.from_tensor_slices((part, range(len(part)))).batch(2)
        for part in _PARTS
      ],
    ),
    (
      'client_data',
      tff.simulation.datasets.TestClientData(
        {
          name: {'label': list(range(len(part))), 'pixels': part[..., 0] / 255}
          for name, part in zip('abc', _PARTS, strict=True)
        }
      ),
    ),
  )
  def test_accepts_images(self, clients):
    images, shares, names = own_data.concatenate('clients', clients)
    self.assertEqual(images.dtype, np.uint8)
    self.assertAllEqual(images, _IMAGES)
    self.assertSequenceEqual(
      [share.tolist() for share in shares], [[0, 1, 2], [3], [4, 5]]
    )
    self.assertIn(''.join(names), ('012', 'abc', 'cab'))

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
  def test_accepts_features_and_clients_without_any(self, clients):
    found, shares, _ = own_data.concatenate('clients', clients)
    self.assertEqual(found.dtype, np.float32)
    self.assertAllEqual(found, _FEATURES)
    self.assertSequenceEqual(
      [share.tolist() for share in shares], [[0, 1, 2, 3], [], [4, 5]]
    )

  @parameterized.named_parameters(
    ('none', [], 'clients: found no images'),
    (
      'different_sizes',
      [_IMAGES, np.zeros((2, 9, 8, 1))],
      r'clients\[1\]: found shape \(9, 8, 1\)',
    ),
    ('images_and_features', [_FEATURES, _IMAGES], r'clients\[1\]: found shape'),
    (
      'labels_of_each_client',
      {'ann': (_IMAGES, [0] * 6)},
      r"clients\['ann'\]: found arrays of different shapes.* without their",
    ),
    (
      'images_and_labels_of_all',
      (_IMAGES, np.zeros(6)),
      r'clients\[1\]: found an array of shape',
    ),
    ('all_in_one_array', _IMAGES, 'clients: found a ndarray'),
    (
      'another_scale',
      {'ann': _PARTS[0], 'bob': _PARTS[2] / 255},
      r"clients\['bob'\]: found floats in 0\.\.1,",
    ),
  )
  def test_refuses(self, clients, message):
    with self.assertRaisesRegex(ValueError, f'^{message}'):
      own_data.concatenate('clients', clients)
