# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the search for equal images."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl import settings
from tff_semifl.algorithms import system
from tff_semifl.data import image_storage
from tff_semifl.data import sources
from tff_semifl.experiment import federated_data

_GIVEN_SHARES = federated_data.choose_data_split(
  system.Labels.AT_SERVER, is_given=True
)


def _images(levels):
  """Images of one level each, which identifies the image."""
  levels = np.array(levels, np.uint8)
  return np.tile(levels[:, None, None, None], [1, 2, 2, 1])


def _labeled(levels, labels):
  return sources.LabeledImages(_images(levels), np.array(labels, np.int32))


def _create_data(**changes):
  """Images that all differ."""
  data = sources.TaskData(
    train=_labeled([0, 1, 2, 3], [0, 0, 1, 1]),
    test=_labeled([10, 11, 12], [0, 1, 1]),
    unlabeled=_images([20, 21, 22, 23, 24]),
    shares=[np.array([0, 1]), np.array([2, 3]), np.array([4])],
  )
  return data._replace(**changes)


def _describe(data, data_split=_GIVEN_SHARES, evaluated='test'):
  found = data_split.split(None, data, 0)
  return [
    *sources.describe_equal_images(
      data,
      {'labeled images': found.labeled, "clients' images": found.unlabeled},
      found.test,
      evaluated,
    )
  ]


class EqualImagesTest(parameterized.TestCase):
  def test_nothing_is_said_of_different_images(self):
    self.assertEmpty(_describe(_create_data()))

  # The numbers of equal images and of all images, and examples.
  @parameterized.named_parameters(
    (
      'test_at_server',
      {'test': _labeled([10, 2, 3], [0, 1, 1])},
      ['2 of 3 test images.*labeled.*(train.2. = test.1|train.3. = test.2)'],
    ),
    (
      'test_at_clients',
      {'unlabeled': _images([20, 21, 22, 12, 24])},
      [r'1 of 3 test images.*clients.*test\[2\] = unlabeled\[3\]'],
    ),
    (
      'two_labels_at_server',
      {'train': _labeled([0, 1, 2, 0], [0, 0, 1, 1])},
      [r'1 .*label.*train\[0\] = train\[3\]'],
    ),
    (
      'two_labels_in_training_and_test',
      {'test': _labeled([10, 11, 0], [0, 1, 1])},
      ['1 of 3 test.*labeled', r'1 .*label.*train\[0\] = test\[2\]'],
    ),
  )
  def test_says_what_is_equal(self, changes, expected):
    lines = _describe(_create_data(**changes))
    self.assertLen(lines, len(expected))
    for line, pattern in zip(lines, expected, strict=True):
      self.assertRegex(line, pattern)

  def test_validation_images_at_clients(self):
    data_split = settings.change(_GIVEN_SHARES, {'num_validation': 2})
    data = _create_data(unlabeled=_images([0, 1, 2, 3, 24]))
    [line] = _describe(data, data_split, 'validation')
    self.assertRegex(line, '^2 of 2 validation images.*clients')

  def test_what_sites_have_is_not_known(self):
    data = _create_data(
      test=_labeled([10, 2], [0, 1]),
      unlabeled=image_storage.SiteImages(['east', 'west'], (2, 2, 1)),
      shares=[np.array([0]), np.array([1])],
    )
    self.assertLen(_describe(data), 1)


if __name__ == '__main__':
  absltest.main()
