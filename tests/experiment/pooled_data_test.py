# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of labels and a pool of unlabeled images in one place."""

from absl.testing import absltest
import numpy as np

from tasks import digits
from tests import small_digits
from tests import small_systems
from tff_semifl import settings
from tff_semifl.algorithms import system as system_lib
from tff_semifl.cli import commands
from tff_semifl.data import sources
from tff_semifl.experiment import federated_data

_POOL = system_lib.Labels.AT_SERVER_WITH_POOL


def _split(labels, data=None, *, is_given=False, num_labeled=50):
  """Splits digits, or other data, with the default settings."""
  task = digits.Digits().create()
  data_split = federated_data.choose_data_split(labels, is_given=is_given)
  data_split = settings.change_present(
    data_split, {'num_labeled': num_labeled, 'num_clients': 10}
  )
  return data_split.split(task, data or task.load(), seed=3)


class PooledDataTest(absltest.TestCase):
  def test_has_the_labels_of_a_federation_and_the_images_of_its_clients(self):
    found = _split(_POOL)
    federated = _split(system_lib.Labels.AT_SERVER)
    for part, other in zip(found.labeled, federated.labeled, strict=True):
      np.testing.assert_array_equal(part, other)
    np.testing.assert_array_equal(
      found.unlabeled.images, federated.unlabeled.images
    )
    self.assertEmpty(found.shares)
    # Systems with and without clients are compared on the same images.
    self.assertLen(federated.shares, 10)

  def test_server_is_not_told_labels_that_it_does_not_have(self):
    found = _split(_POOL)
    at_server = found.at_server(_POOL)
    num_unlabeled = len(found.unlabeled.images)
    self.assertEqual(num_unlabeled, 1437 - 50)
    np.testing.assert_array_equal(
      at_server.images,
      np.concatenate([found.labeled.images, found.unlabeled.images]),
    )
    np.testing.assert_array_equal(
      at_server.labels,
      [*found.labeled.labels, *[sources.UNKNOWN_LABEL] * num_unlabeled],
    )

  def test_in_other_systems_the_server_has_labeled_images_alone(self):
    labels = system_lib.Labels.AT_SERVER
    found = _split(labels)
    self.assertIs(found.at_server(labels), found.labeled)

  def test_images_of_unknown_classes_are_in_the_pool(self):
    images = np.arange(7, dtype=np.uint8).reshape(7, 1, 1, 1)
    train = sources.LabeledImages(images[:4], np.array([0, 1, 0, 1], np.int32))
    data = sources.TaskData(train, train, unlabeled=images[4:])
    found = _split(_POOL, data, is_given=True)
    # Where the task gives the partition, the server has all labels of the task.
    np.testing.assert_array_equal(
      found.at_server(_POOL).labels, [0, 1, 0, 1, -1, -1, -1]
    )
    self.assertEmpty(found.shares)


class ExperimentTest(absltest.TestCase):
  def test_training_and_statistics_are_of_all_images(self):
    command = commands.create(
      'fixmatch',
      {
        **small_digits.SETTINGS,
        'num_labeled': 20,
        'output_dir': self.create_tempdir().full_path,
      },
    )
    with small_systems.without_process('fixmatch'):
      experiment = command.create_experiment()
    program = experiment
    [chunk] = program.server_dataset.as_numpy_iterator()
    self.assertLen(chunk['image'], 1437)
    self.assertEqual(np.count_nonzero(chunk['label'] >= 0), 20)
    [statistics] = program.statistics.data.as_numpy_iterator()
    np.testing.assert_array_equal(statistics['image'], chunk['image'])
    # Training does not wait for these statistics.
    self.assertFalse(program.statistics.for_clients)
    self.assertEqual(program.total_rounds, 1023)


if __name__ == '__main__':
  absltest.main()
