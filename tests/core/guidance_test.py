# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the state that a method keeps at the server and broadcasts."""

import dataclasses

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import fix_mix_reference
from tests import linear_reference
from tests import simulation_test_case
from tests import small_systems
from tests.core import linear_problem
from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import fix_mix
from tff_semifl.core import composition
from tff_semifl.core import rounds

_COHORTS = ([], [2, 0], [1, 2])
_FIRST_THRESHOLD = linear_problem.THRESHOLD
_GROWTH = 0.002


@dataclasses.dataclass(frozen=True, kw_only=True)
class _FixMixByRisingThreshold(fix_mix.FixMix):
  """SemiFL's clients with a rising threshold from the server."""

  def select(self, update, labels):
    return labels.confidences >= update.guidance

  def report(self, update, state):
    return tf.cast(update.num_trained_on, tf.float32)

  def init_guidance(self, model):
    return {
      'threshold': tf.constant(_FIRST_THRESHOLD),
      'teacher': tuple(
        tf.zeros_like(array) for array in model.initial_weights.trainable
      ),
    }

  def tell(self, kept, server):
    return kept['threshold']

  def guidance(self, kept, sums, server):
    return {
      'threshold': kept['threshold'] + _GROWTH * sums,
      # Round 0 is the first that it has seen.
      'teacher': tuple(
        tf.where(server.round_num > 0, (old + new) / 2, new)
        for old, new in zip(
          kept['teacher'], server.weights.trainable, strict=True
        )
      ),
    }


def _build(run_round=rounds.semifl_round, **options):
  """SemiFL with a threshold that rises, and an average of models."""
  system = settings.change(
    averaging.Alternating(client=_FixMixByRisingThreshold()),
    linear_problem.SETTINGS,
  )
  ingredients = small_systems.create_ingredients(seed=linear_problem.SEED)
  parts = system.build_parts(ingredients)
  return composition.build(parts, run_round, **options)


class GuidanceTest(simulation_test_case.SimulationTestCase):
  def test_rounds_equal_numpy(self):
    problem = linear_problem.LinearProblem()
    process = _build()
    state = process.initialize()
    federation = linear_problem.Federation(
      linear_reference.NumpySGD(
        linear_reference.create_classifier().initial_weights.trainable, 0.0
      )
    )
    threshold, teacher = _FIRST_THRESHOLD, None
    for round_num, cohort in enumerate(_COHORTS):
      state = process.next(
        state, problem.server_data, problem.client_data(cohort)
      ).state
      updates = [
        problem.train_client(
          fix_mix_reference.train_client,
          federation.sgd.weights,
          client_id,
          round_num,
          threshold=threshold,
          mix_loss_weight=1.0,
        )
        for client_id in cohort
      ]
      federation.average(
        [update.weights for update in updates if update.num_confident]
      )
      problem.train_server(federation.sgd, round_num)
      weights = federation.sgd.weights
      threshold += _GROWTH * sum(update.num_confident for update in updates)
      teacher = [
        new if teacher is None else (old + new) / 2
        for old, new in zip(teacher or weights, weights, strict=True)
      ]
      federation.assert_equal(state)
      self.assertAlmostEqual(
        float(state.guidance['method']['threshold']), threshold, places=5
      )
      for found, expected in zip(
        state.guidance['method']['teacher'], teacher, strict=True
      ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    # The threshold has risen, but not to the maximum of 21 images.
    self.assertBetween(
      threshold, _FIRST_THRESHOLD + _GROWTH, _FIRST_THRESHOLD + 20.5 * _GROWTH
    )

  def test_other_composers_keep_it_too(self):
    problem = linear_problem.LinearProblem()
    process = _build(
      rounds.parallel_round,
      server_share_fn=rounds.half,
      step_from_received_weights=False,
    )
    state = process.initialize()
    for cohort in _COHORTS[:2]:
      output = process.next(
        state, problem.server_data, problem.client_data(cohort)
      )
      state = output.state
    num_images = sum(len(problem.clients[k][1]) for k in _COHORTS[1])
    np.testing.assert_allclose(
      state.guidance['method']['threshold'],
      _FIRST_THRESHOLD
      + _GROWTH * num_images * output.metrics['client']['label_ratio'],
      rtol=1e-5,
    )
    self.assertGreater(state.guidance['method']['threshold'], _FIRST_THRESHOLD)


if __name__ == '__main__':
  absltest.main()
