# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the forms in which a program may give images."""

from absl.testing import parameterized
import numpy as np
from PIL import Image
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.data import own_images

# All gray levels, in 4 images of 8x8 pixels.
_GRAY = np.arange(256, dtype=np.uint8).reshape(4, 8, 8, 1)
_FEATURES = np.random.default_rng(0).standard_normal((6, 4), np.float32)
_COLOR = np.repeat(_GRAY, 3, axis=-1)


class ConvertTest(parameterized.TestCase, tf.test.TestCase):
  def _assert_gray(self, images):
    converted = own_images.convert('train', images)
    self.assertEqual(converted.dtype, np.uint8)
    self.assertAllEqual(converted, _GRAY)

  @parameterized.named_parameters(
    ('as_it_is', _GRAY),
    ('without_channels', _GRAY[..., 0]),
    ('floats_in_0_to_255', _GRAY.astype(np.float32)),
    # Each multiple of 1/255 is rounded to its own level.
    ('floats_in_0_to_1', _GRAY / 255),
    ('half_precision_in_0_to_1', (_GRAY / 255).astype(np.float16)),
    ('tensor', tf.constant(_GRAY)),
    ('list_of_arrays', list(_GRAY)),
    ('nested_lists', _GRAY.tolist()),
    ('pillow', [Image.fromarray(each[..., 0]) for each in _GRAY]),
  )
  def test_accepts(self, images):
    self._assert_gray(images)

  def test_accepts_an_array_of_objects(self):
    images = np.empty(4, object)
    images[:] = list(_GRAY)
    self._assert_gray(images)

  def test_color_stays_color(self):
    self.assertAllEqual(own_images.convert('train', _COLOR / 255), _COLOR)

  @parameterized.named_parameters(
    (
      'channels_first',
      np.moveaxis(_COLOR, -1, 1),
      r'shape \(4, 3, 8, 8\), .*give np\.moveaxis\(images, 1, -1\)',
    ),
    (
      'transparency',
      np.repeat(_GRAY, 4, axis=-1),
      'with 4 channels; give 1 for gray or 3 for opaque color',
    ),
    ('flat', _GRAY.reshape(4, 64), r'shape \(4, 64\); give an array \[images,'),
    ('none', [], 'found no images; give one at least'),
    (
      'different_sizes',
      [np.zeros((8, 8, 3)), np.zeros((9, 8, 3))],
      r'different shapes, \(8, 8, 3\) and',
    ),
    ('normalized', (_GRAY - 128.0) / 128, r'pixels in -1\.\.0\.992188'),
    ('few_levels', _GRAY // 16, r'in 0\.\.15, all nearly black'),
    (
      'standardized',
      [np.linspace(-2, most, 64).reshape(8, 8, 1) for most in (3, 0.9)],
      'not normalized',
    ),
    ('one_image', Image.fromarray(_COLOR[0]), 'found a single PIL image'),
    ('path', 'photos/train', "path 'photos/train'"),
    ('generator', (each for each in _GRAY), 'a generator, which can be read'),
    (
      'clients',
      tff.simulation.datasets.TestClientData({'a': [[1]]}),
      'found a ClientData',
    ),
  )
  def test_refuses(self, images, message):
    with self.assertRaisesRegex(ValueError, f'^train: .*{message}'):
      own_images.convert('train', images)


def _with(value, row=2, column=3):
  features = _FEATURES.copy()
  features[row, column] = value
  return features


class FeaturesTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(np.float16, np.float64)
  def test_floats_become_float32(self, dtype):
    given = _FEATURES.astype(dtype)
    found = own_images.convert_examples('train', given)
    self.assertEqual(found.dtype, np.float32)
    self.assertAllEqual(found, given.astype(np.float32))

  def test_float32_is_not_copied(self):
    self.assertIs(own_images.convert_examples('train', _FEATURES), _FEATURES)

  def test_sequence_of_vectors(self):
    # As images, these two arrays would have different scales.
    small = [np.array([0.5, 0.25]), np.array([200.0, 3.0])]
    self.assertAllEqual(own_images.convert_examples('train', small), small)

  @parameterized.named_parameters(
    ('integers', np.arange(12).reshape(6, 2), r'int64 of shape \(6, 2\)'),
    ('no_vector', _FEATURES[:0], r'float32 of shape \(0, 4\); give floats'),
    ('nan', _with(np.nan), 'nan in row 2, column 3'),
    (
      'more_than_float32_has',
      _FEATURES.astype(np.float64) * 1e300,
      r'1\.11\d+e\+300 in row 0, column 0',
    ),
  )
  def test_refuses(self, features, message):
    with self.assertRaisesRegex(ValueError, f'^train: found -?{message}'):
      own_images.convert_examples('train', features)

  def test_measures_by_feature(self):
    features = np.array([[1, 10, 0.1], [3, 50, 0.1]], np.float32)
    mean, deviation = own_images.measure_features(features)
    self.assertAllClose(mean, [2, 30, 0.1])
    self.assertAllClose(deviation, [1, 20, 1])
    own_images.check_server_features('train', features)
    with self.assertRaisesRegex(
      ValueError, '^train: found the same values in all 3 feature vectors'
    ):
      own_images.check_server_features('train', features[[0, 0, 0]])
    features[1, 2] = -1e20
    with self.assertRaisesRegex(
      ValueError, r'^train: found -1e\+20 in row 1, column 2; give'
    ):
      own_images.check_server_features('train', features)


class ReadDatasetTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.product(
    images=[_COLOR, _GRAY[..., 0]],
    # One-hot labels have two axes, as do batches of labels.
    labels=[np.array([3, 1, 2, 0]), np.eye(4)],
    batch_size=[None, 3],
  )
  def test_reads_labeled_images(self, images, labels, batch_size):
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    if batch_size is not None:
      dataset = dataset.batch(batch_size)
    found = own_images.read_dataset('train', dataset, labeled=True)
    self.assertAllEqual(found[0], images)
    self.assertAllEqual(found[1], labels)

  @parameterized.product(
    images=[_COLOR, _GRAY[..., 0]], batch_size=[None, 3], has_labels=[0, 1]
  )
  def test_reads_images_alone(self, images, batch_size, has_labels):
    dataset = tf.data.Dataset.from_tensor_slices(
      (images, np.arange(4)) if has_labels else images
    )
    if batch_size is not None:
      dataset = dataset.batch(batch_size)
    found, labels = own_images.read_dataset('pool', dataset, labeled=False)
    self.assertAllEqual(found, images)
    self.assertIsNone(labels)

  def test_image_of_unknown_shape_is_no_batch(self):
    dataset = tf.data.Dataset.from_generator(
      lambda: zip(_COLOR, np.eye(4), strict=True),
      output_signature=(
        tf.TensorSpec([None, None, None], tf.uint8),
        tf.TensorSpec([4]),
      ),
    )
    images, labels = own_images.read_dataset('train', dataset, labeled=True)
    self.assertAllEqual(images, _COLOR)
    self.assertAllEqual(labels, np.eye(4))

  def test_reads_what_tff_has(self):
    dataset = tf.data.Dataset.from_tensor_slices(
      {'label': [1, 2, 3, 4], 'pixels': _GRAY[..., 0] / 255}
    )
    images, labels = own_images.read_dataset('train', dataset, labeled=True)
    self.assertAllEqual(own_images.convert('train', images), _GRAY)
    self.assertAllEqual(labels, [1, 2, 3, 4])

  @parameterized.named_parameters(
    (
      'endless',
      lambda: tf.data.Dataset.from_tensor_slices((_GRAY, range(4))).repeat(),
      'a dataset without end',
    ),
    (
      'without_labels',
      lambda: tf.data.Dataset.from_tensor_slices(_GRAY),
      'elements of 1 parts',
    ),
    (
      'that_fails',
      lambda: tf.data.Dataset.from_generator(
        lambda: ((_GRAY[i], 1 // (2 - i)) for i in range(4)),
        output_signature=(
          tf.TensorSpec([8, 8, 1], tf.uint8),
          tf.TensorSpec([], tf.int32),
        ),
      ),
      'a dataset that cannot be read',
    ),
  )
  def test_refuses(self, create, message):
    with self.assertRaisesRegex(ValueError, f'train: found .*{message}'):
      own_images.read_dataset('train', create(), labeled=True)
