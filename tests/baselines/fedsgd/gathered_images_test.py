# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of gathering clients' images."""

from absl.testing import absltest
import numpy as np

from tests import linear_reference
from tff_semifl import runtime
from tff_semifl.baselines.fedsgd import gathered_images


class GatheringTest(absltest.TestCase):
  def test_clients_are_in_the_order_of_their_numbers(self):
    images = {
      number: linear_reference.create_images(size, seed=number)
      for number, size in ((5, 3), (0, 1), (9, 0), (2, 4))
    }
    gather = gathered_images.build_gathering(linear_reference.IMAGE_SHAPE)
    datasets = [
      linear_reference.client_dataset(*client) for client in images.items()
    ]
    # Cut into chunks, which makes no difference.
    datasets[0] = linear_reference.client_dataset(5, images[5][:2]).concatenate(
      linear_reference.client_dataset(5, images[5][2:])
    )
    with runtime.simulation_context():
      found = gather(datasets)
    np.testing.assert_array_equal(found.client_id, [0, 2, 5, 9])
    np.testing.assert_array_equal(found.num_images, [1, 4, 3, 0])
    np.testing.assert_array_equal(
      found.image, np.concatenate([images[number] for number in (0, 2, 5, 9)])
    )

  def test_nobody_has_nothing(self):
    gather = gathered_images.build_gathering(linear_reference.IMAGE_SHAPE)
    with runtime.simulation_context():
      found = gather([])
    self.assertEqual(found.client_id.shape, (0,))
    self.assertEqual(found.image.shape, (0, *linear_reference.IMAGE_SHAPE))


if __name__ == '__main__':
  absltest.main()
