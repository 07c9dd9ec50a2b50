# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of finding equal images, and of keeping test images out of training."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl import settings
from tff_semifl.algorithms import system
from tff_semifl.data import sources
from tff_semifl.experiment import equal_images
from tff_semifl.experiment import federated_data
from tff_semifl.experiment import own_data

_GIVEN_SHARES = federated_data.choose_data_split(
  system.Labels.AT_SERVER, is_given=True
)


def _images(levels):
  """Returns images of one level each, which identifies the image."""
  levels = np.array(levels, np.uint8)
  return np.tile(levels[:, None, None, None], [1, 2, 2, 1])


def _levels(images):
  return np.asarray(images)[:, 0, 0, 0].tolist()


def _labeled(levels, labels):
  return sources.LabeledImages(_images(levels), np.array(labels, np.int32))


def _create_data(**changes):
  """Returns images that all differ."""
  data = sources.TaskData(
    train=_labeled([0, 1, 2, 3], [0, 0, 1, 1]),
    test=_labeled([10, 11, 12], [0, 1, 1]),
    unlabeled=_images([20, 21, 22, 23, 24]),
    shares=[np.array([0, 1]), np.array([2, 3]), np.array([4])],
  )
  return data._replace(**changes)


def _split(data, data_split=None, evaluated='test', **values):
  """Returns the data of server and clients."""
  data_split = data_split or _GIVEN_SHARES
  part = settings.change(equal_images.EqualImages(), values)
  return part.find_and_drop(
    data, lambda images: data_split.split(None, images, 0), evaluated
  )


class EqualImagesTest(parameterized.TestCase):
  def test_nothing_is_said_of_different_images(self):
    for drop in (False, True):
      found = _split(_create_data(), drop_test_duplicates=drop)
      self.assertEqual(found.equal_images, ())
      self.assertEqual(_levels(found.unlabeled.images), [20, 21, 22, 23, 24])

  # Each line has the number of equal images, of all images, and examples.
  @parameterized.named_parameters(
    (
      'test_at_server',
      {'test': _labeled([10, 2, 3], [0, 1, 1])},
      ['2 of 3 test images.*labeled.*(test.1. = train.2|test.2. = train.3)'],
    ),
    (
      'test_at_clients',
      {'unlabeled': _images([20, 21, 22, 12, 24])},
      [r'1 of 3 test images.*clients.*test\[2\] = client 1\[1\]'],
    ),
    (
      'labeled_at_clients',
      {'unlabeled': _images([3, 21, 22, 23, 3])},
      [
        r"2 of 5 clients' images.*labeled.*client 0\[0\] = client 2\[0\]",
        '1 of 5 clients.*copies',
      ],
    ),
    (
      'copies_in_test',
      {'test': _labeled([10, 10, 10], [0, 0, 0])},
      ['2 of 3 test images.*copies'],
    ),
    (
      'two_labels_at_server',
      {'train': _labeled([0, 1, 2, 0], [0, 0, 1, 1])},
      ['1 of 4 labeled.*copies', r'1 .*label.*train\[0\] = train\[3\]'],
    ),
    (
      'two_labels_in_training_and_test',
      {'test': _labeled([10, 11, 0], [0, 1, 1])},
      ['1 of 3 test.*labeled', r'1 .*label.*train\[0\] = test\[2\]'],
    ),
  )
  def test_says_what_is_equal(self, changes, expected):
    lines = _split(_create_data(**changes)).equal_images
    self.assertLen(lines, len(expected))
    for line, pattern in zip(lines, expected, strict=True):
      self.assertRegex(line, pattern)

  def test_nobody_trains_on_test_images(self):
    data = _create_data(
      train=_labeled([0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 1]),
      test=_labeled([1, 24, 4, 21], [0, 0, 1, 1]),
    )
    before = _split(data)
    found = _split(data, drop_test_duplicates=True)
    self.assertCountEqual(_levels(found.labeled.images), [0, 2, 3, 5])
    for level, label in zip(
      _levels(found.labeled.images), found.labeled.labels, strict=True
    ):
      self.assertEqual(label, level >= 3)
    self.assertEqual(
      [_levels(found.unlabeled.images[share]) for share in found.shares],
      [[20], [22, 23], []],
    )
    self.assertLen(found.unlabeled.true_labels, 3)
    self.assertEqual(_levels(found.test.images), [1, 24, 4, 21])
    # The remaining images.
    for each, expected in (
      (before, [0, 1, 2, 3, 4, 5, 20, 21, 22, 23, 24]),
      (found, [0, 2, 3, 5, 20, 22, 23]),
    ):
      everything = np.concatenate([each.labeled.images, each.unlabeled.images])
      self.assertCountEqual(_levels(everything), expected)
    # The equal images are still reported.
    self.assertLen(found.equal_images, len(before.equal_images))

  @parameterized.parameters(
    ({'test': _labeled([2, 3, 11], [1, 1, 1])}, 'class 1'),
    ({'unlabeled': _images([10, 11, 10, 11, 12])}, 'clients'),
  )
  def test_something_must_be_left(self, changes, problem):
    with self.assertRaisesRegex(
      settings.SettingError, f'^drop_test_duplicates=True: .*{problem}'
    ):
      _split(_create_data(**changes), drop_test_duplicates=True)

  def test_pool_of_a_split_data_set(self):
    # Test images are among the unlabeled images.
    levels = np.arange(40)
    data = sources.TaskData(
      train=_labeled(levels, levels % 2),
      test=_labeled([100, 101, 102], [0, 1, 0]),
      unlabeled=_images([50, 101, 51, 102, 101, 52]),
    )
    data_split = settings.change(
      federated_data.choose_data_split(system.Labels.AT_SERVER, is_given=False),
      {'num_labeled': 4, 'num_clients': 2},
    )
    task = own_data.own_data(
      (6 * data.train.images, data.train.labels),
      data.test,
      num_labeled=4,
    )

    def find(**values):
      part = settings.change(equal_images.EqualImages(), values)
      return part.find_and_drop(
        data, lambda images: data_split.split(task, images, 0), 'test'
      )

    lines = find().equal_images
    self.assertRegex(lines[0], '^2 of 3 test images.*clients.*unlabeled.1')
    self.assertRegex(lines[1], "^1 of 42 clients' images.*copies")
    found = find(drop_test_duplicates=True)
    self.assertLen(found.unlabeled.images, 39)
    self.assertNoCommonElements(
      _levels(found.unlabeled.images), _levels(found.test.images)
    )
    for index in np.concatenate(found.shares):
      self.assertLess(index, 39)

  def test_validation_images(self):
    data_split = settings.change(_GIVEN_SHARES, {'num_validation': 2})
    data = _create_data(unlabeled=_images([0, 1, 2, 3, 24]))
    lines = _split(data, data_split, 'validation').equal_images
    self.assertRegex(lines[0], '^2 of 2 validation images.*clients')
    found = _split(data, data_split, 'validation', drop_test_duplicates=True)
    self.assertLen(found.unlabeled.images, 3)

  def test_what_sites_have_is_not_known(self):
    sites = sources.SiteImages(['east', 'west'], (2, 2, 1))
    data = _create_data(
      test=_labeled([10, 2], [0, 1]),
      unlabeled=sites,
      shares=[np.array([0]), np.array([1])],
    )
    for drop, labeled in ((False, [0, 1, 2, 3]), (True, [0, 1, 3])):
      found = _split(data, drop_test_duplicates=drop)
      self.assertLen(found.equal_images, 1)
      self.assertCountEqual(_levels(found.labeled.images), labeled)
      self.assertIs(found.unlabeled.images, sites)


if __name__ == '__main__':
  absltest.main()
