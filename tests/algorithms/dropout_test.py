# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that training has dropout masks, and labeling has none."""

import collections

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests import linear_reference
from tests import simulation_test_case
from tests import small_systems
from tests.algorithms import zhang2020_reference
from tests.core import linear_problem

_NUM_CLIENTS = 3
# All predictions are confident, so that all batches are trained on.
_SETTINGS = dict(linear_problem.SETTINGS) | {
  'confidence_threshold': 0.01,
  'clients_per_step': _NUM_CLIENTS,
  'steps_per_round': 4,
  'batch_size': 2,
  'warm_up_steps': 1,
  'schedule_steps': 20,
  'num_groups': 2,
}
# The steps of a round: 2 epochs of 5 images in batches of 2.
_SERVER_PASSES = 2 * 3
# The same for clients with 4, 5 and 6 images in batches of 3.
_CLIENT_PASSES = 2 * (2 + 2 + 2)


class _Watched:
  """The linear classifier, which records the seeds of dropout."""

  def __init__(self):
    self.seeds = []
    self.num_labelings = 0
    linear = linear_reference.create_classifier()

    # A function that is kept, because graphs reference it weakly.
    def note(seed):
      if seed.size:
        self.seeds.append(tuple(seed.tolist()))
      else:
        self.num_labelings += 1
      return np.float32(0)

    def watch(logits, seed):
      noted = tf.numpy_function(note, [seed], tf.float32)
      # Without this, the shape would be unknown.
      return logits + tf.ensure_shape(noted, [])

    self._note = note
    self.classifier = linear._replace(
      train_logits=lambda weights, images, seed, num_real=None: watch(
        linear.train_logits(weights, images, num_real=num_real), seed
      ),
      batch_logits=lambda weights, images, num_real=None: watch(
        linear.batch_logits(weights, images, num_real=num_real),
        tf.zeros([0], tf.int32),
      ),
    )


class DropoutTest(simulation_test_case.SimulationTestCase):
  @parameterized.parameters(
    # Steps of server and clients; SemiFL's client steps have two forward
    # passes.
    ('semifl', 3 * _SERVER_PASSES + 2 * 2 * _CLIENT_PASSES, 0),
    (
      'batch_label_semifl',
      3 * _SERVER_PASSES + 2 * _CLIENT_PASSES,
      2 * _CLIENT_PASSES,
    ),
    # Four steps of three clients and two replicas of the server. In equation 4,
    # labels come from the pass in training mode.
    ('consistency_averaging', 2 * 4 * (3 + 2), 0),
  )
  @pytest.mark.slow
  def test_each_pass_draws_anew(self, system_name, num_passes, num_labelings):
    """The first round has no clients."""
    watched = _Watched()
    process = small_systems.build(
      system_name,
      usual=_SETTINGS,
      classifier=watched.classifier,
      seed=linear_problem.SEED,
    )
    if process.initialize_memory is not None:
      process = zhang2020_reference.SlottedProcess(process, _NUM_CLIENTS)
    problem = linear_problem.LinearProblem()
    state = process.initialize()
    for cohort in ([], [0, 1, 2], [0, 1, 2]):
      state = process.next(
        state, problem.server_data, problem.client_data(cohort)
      ).state
    counts = collections.Counter(watched.seeds)
    self.assertLen(counts, num_passes)
    self.assertEqual(set(counts.values()), {1})
    self.assertEqual(watched.num_labelings, num_labelings)


if __name__ == '__main__':
  absltest.main()
