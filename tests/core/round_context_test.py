# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the random seeds of nodes in a round."""

from absl.testing import absltest
import tensorflow as tf

from tff_semifl.core import federated_process
from tff_semifl.randomness import random_seeds

_CONTEXT = federated_process.RoundContext(7, 4, 0.1)
_VIEW = random_seeds.Purpose.WEAK_VIEW


class NodeTest(tf.test.TestCase):
  def test_a_client_has_its_number_between_round_and_epoch(self):
    self.assertAllEqual(
      federated_process.Node(_CONTEXT, 3).seed(_VIEW, 5, 6),
      random_seeds.stateless_seed(7, _VIEW, 4, 3, 5, 6),
    )

  def test_the_one_server_has_no_number(self):
    self.assertAllEqual(
      federated_process.Node(_CONTEXT).seed(_VIEW, 5),
      random_seeds.stateless_seed(7, _VIEW, 4, 5),
    )

  def test_client_0_is_not_the_server(self):
    self.assertNotAllEqual(
      federated_process.Node(_CONTEXT, 0).seed(_VIEW),
      federated_process.Node(_CONTEXT).seed(_VIEW),
    )


if __name__ == '__main__':
  absltest.main()
