# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the forms in which a program may give labels."""

from absl.testing import parameterized
import numpy as np

from tff_semifl.data import own_labels


class FlattenTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('integers', np.array([2, 0, 1], np.uint8)),
    ('list', [2, 0, 1]),
    ('column', np.array([[2], [0], [1]])),
    ('one_hot', np.eye(3)[[2, 0, 1]]),
    ('one_hot_of_truth_values', np.eye(3, dtype=bool)[[2, 0, 1]]),
    ('floats', np.array([2.0, 0.0, 1.0])),
  )
  def test_numbers(self, labels):
    flat = own_labels.flatten('train', labels, 3)
    self.assertEqual(flat.dtype, np.int64)
    self.assertSequenceEqual(flat.tolist(), [2, 0, 1])

  @parameterized.named_parameters(
    ('list', ['cat', 'dog', 'cat']),
    ('column', np.array([['cat'], ['dog'], ['cat']])),
    ('objects', np.array(['cat', 'dog', 'cat'], object)),
    # Labels as a tf.data.Dataset returns them.
    ('bytes', np.array([b'cat', b'dog', b'cat'], object)),
  )
  def test_names(self, labels):
    flat = own_labels.flatten('train', labels, 3)
    self.assertEqual(flat.dtype.kind, 'U')
    self.assertSequenceEqual(flat.tolist(), ['cat', 'dog', 'cat'])

  @parameterized.named_parameters(
    ('too_few', [1, 2], 'found 3 images and 2 labels'),
    (
      'probabilities',
      np.full((3, 2), 0.5),
      r'shape \(3, 2\) that are not one-hot',
    ),
    ('ragged', [[0], [1, 2], [3]], 'found labels of several lengths'),
    (
      'no_text',
      np.array([b'\xff', b'a', b'b'], object),
      r"found the label b'\\xff', which is no UTF-8",
    ),
    ('fractions', [0.5, 1, 2], r'dtype float64, 0\.5 say'),
  )
  def test_refuses(self, labels, message):
    with self.assertRaisesRegex(ValueError, f'^train: .*{message}'):
      own_labels.flatten('train', labels, 3)


class ClassesTest(parameterized.TestCase):
  def test_numbers_are_named_by_themselves(self):
    names = own_labels.name_classes('train', np.array([2, 0, 1, 2]))
    self.assertEqual(names, ('0', '1', '2'))

  def test_strings_are_sorted(self):
    labels = np.array(['dog', 'cat', 'dog'])
    names = own_labels.name_classes('train', labels)
    self.assertEqual(names, ('cat', 'dog'))
    indices = own_labels.index('train', labels, names)
    self.assertEqual(indices.dtype, np.int32)
    self.assertSequenceEqual(indices.tolist(), [1, 0, 1])

  def test_given_names_have_their_order(self):
    indices = own_labels.index(
      'test', np.array(['dog', 'cat']), ['dog', 'cow', 'cat']
    )
    self.assertSequenceEqual(indices.tolist(), [0, 2])
    indices = own_labels.index('test', np.array([2, 0]), ['dog', 'cow', 'cat'])
    self.assertSequenceEqual(indices.tolist(), [2, 0])

  @parameterized.named_parameters(
    ('one_class', [0, 0], 'found the only class 0'),
    ('from_1', [1, 2, 3], 'up to 3, but no image of class 0'),
    ('far_away', [0, 1, 10**12], 'no image of class 2'),
    ('unknown', [-1, 0, 1], 'found the label -1'),
  )
  def test_refuses_classes(self, labels, message):
    with self.assertRaisesRegex(ValueError, f'^train: .*{message}'):
      own_labels.name_classes('train', np.array(labels))

  @parameterized.named_parameters(
    ('a_string', 'cat', "'cat'; give a list of strings"),
    ('twice', ['a', 'b', 'a'], 'a name twice in'),
    ('twice_by_accents', ['\u00e9', 'a', 'e\u0301'], 'a name twice in'),
    ('not_a_string', ['a', None], r"\['a', None\]; give a list of strings"),
    ('one', ['a'], r"\['a'\], fewer than two"),
    ('two_lines', ['a', 'b\nc'], '.*, with a line break'),
  )
  def test_refuses_names(self, names, message):
    with self.assertRaisesRegex(ValueError, f'^class_names: found {message}'):
      own_labels.check_names('class_names', names)

  @parameterized.named_parameters(
    ('number', [0, 3], 'label 3; with 2 classes, labels are in'),
    ('name', ['cat', 'cow'], "label 'cow'; the classes are cat, dog"),
  )
  def test_refuses_labels_of_no_class(self, labels, message):
    with self.assertRaisesRegex(ValueError, f'^test: found the {message}'):
      own_labels.index('test', np.array(labels), ('cat', 'dog'))


class IndexByClientTest(parameterized.TestCase):
  def test_some_are_unknown(self):
    shares = [np.arange(2), np.arange(2, 5), np.arange(5, 5), np.arange(5, 8)]
    none = np.array([], object)
    labels = {
      'a': ['dog', 'cat'],
      'b': None,
      'c': none,
      'd': ['dog', '', 'cat'],
    }
    for given in (labels, list(labels.values())):
      found = own_labels.index_by_client('a', given, shares, ('cat', 'dog'))
      np.testing.assert_array_equal(found, [1, 0, -1, -1, -1, 1, -1, 0])
      self.assertEqual(found.dtype, np.int32)
    found = own_labels.index_by_client(
      'a', [[[0], [-1]]], [np.arange(2)], ('cat', 'dog')
    )
    np.testing.assert_array_equal(found, [0, -1])

  @parameterized.parameters(
    ([[0]], '^l: found labels of 1 clients, but images of'),
    ([[0], [0], None], r'^l\[1\]: found 2 images and 1 labels'),
    ([None, None, [0]], r'^l\[2\]: found 0 images and 1 labels'),
    ([['owl'], None, None], r"^l\[0\]: found the label 'owl'"),
  )
  def test_refuses(self, labels, message):
    with self.assertRaisesRegex(ValueError, message):
      own_labels.index_by_client(
        'l',
        labels,
        [np.arange(1), np.arange(1, 3), np.arange(3, 3)],
        ('cat', 'dog'),
      )
