# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the lines on partitions that differ from the settings."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl.experiment import partitions


def _describe(part, labels, num_clients, seed=0):
  shares = part.split(labels, 10, num_clients, seed)
  return shares, part.describe(labels, shares)


class DescribeTest(parameterized.TestCase):
  def test_images_that_do_not_divide(self):
    # 1003 = 7 * 143 + 2.
    labels = np.arange(1003) % 10
    _, (note,) = _describe(partitions.IID(), labels, 7)
    self.assertRegex(note, '^2 of 1003 images have no client$')
    self.assertEmpty(_describe(partitions.IID(), labels[:1001], 7)[1])

  def test_clients_with_fewer_classes(self):
    labels = np.arange(1000) % 10
    found = []
    for seed in range(5):
      shares, notes = _describe(partitions.Classes(), labels, 20, seed)
      num_fewer = sum(len(set(labels[share])) == 1 for share in shares)
      found.append(num_fewer)
      if num_fewer:
        self.assertRegex(notes[0], f'^{num_fewer} of 20 clients .* 2 .* 1 ')
      else:
        self.assertEmpty(notes)
    # A second part of the same class has a probability of 3 in 39.
    self.assertGreater(max(found), 0)

  @parameterized.parameters(
    partitions.Classes(classes_per_client=1),
    partitions.Dirichlet(),
    partitions.MainClasses(),
  )
  def test_nothing_is_said_of_others(self, part):
    self.assertEmpty(_describe(part, np.arange(1000) % 10, 20)[1])

  def test_outside_function_must_share_out_all_images(self):
    part = partitions.OutsidePartition(
      reference='some.module:split',
      function=lambda labels, num_classes, num_clients, seed: np.split(
        np.arange(len(labels) - 1), num_clients
      ),
    )
    with self.assertRaisesRegex(
      ValueError, '^some.module:split left 1 of 1001 images to no client$'
    ):
      part.split(np.arange(1001) % 10, 10, 20, 0)


if __name__ == '__main__':
  absltest.main()
