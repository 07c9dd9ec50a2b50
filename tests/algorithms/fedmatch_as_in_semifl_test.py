# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of disjoint learning against NumPy (D.6, D40, D41)."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest

from tests import batch_label_reference
from tests import decomposed_reference
from tests import linear_reference
from tests import simulation_test_case
from tests.core import linear_problem
from tff_semifl.models import fedmatch_networks
from tff_semifl.models import functional
from tff_semifl.models import wide_resnet

_SIGMA, _PHI, _KERNEL, _BIAS = range(4)
# Every image is above it, so that clients train at once.
_THRESHOLD = 0.34


def _build(classifier=None, *, system_name='fedmatch_as_in_semifl', **changes):
  return linear_problem.build(
    system_name,
    {'confidence_threshold': _THRESHOLD, **changes},
    classifier=classifier or decomposed_reference.create_classifier(),
  )


class FedMatchAsInSemiFLTest(simulation_test_case.SimulationTestCase):
  @parameterized.named_parameters(
    ('with_bugs', True, {_SIGMA}, {_PHI}),
    ('fixed', False, {_SIGMA, _KERNEL, _BIAS}, {_PHI, _KERNEL, _BIAS}),
  )
  def test_rounds_equal_numpy_d40_d41(
    self, reproduce_bugs, server_trains, clients_train
  ):
    """Server alone (D1), then two cohorts, then the server after each."""
    problem = linear_problem.LinearProblem()
    process = _build(reproduce_bugs=reproduce_bugs)
    create_sgd = functools.partial(
      decomposed_reference.NumpySGD, trained=server_trains, masks=reproduce_bugs
    )
    for round_num, cohort, federation, output in linear_problem.follow(
      process, ([], [2, 0], [1, 2]), create_sgd=create_sgd
    ):
      rounds = [
        problem.train_client(
          batch_label_reference.train_client,
          federation.sgd.weights,
          client_id,
          round_num,
          threshold=_THRESHOLD,
          create_sgd=functools.partial(
            decomposed_reference.NumpySGD, trained=clients_train, masks=False
          ),
        )
        for client_id in cohort
      ]
      if rounds:
        self.assertGreater(sum(r.num_confident for r in rounds), 0)
      federation.average([r.weights for r in rounds])
      problem.train_server(federation.sgd, round_num)
      self.assertEqual(
        output.metrics['client']['num_participating'], len(cohort)
      )
      if rounds:
        np.testing.assert_allclose(
          output.metrics['client']['label_ratio'],
          sum(r.num_confident for r in rounds)
          / sum(r.num_labeled for r in rounds),
          rtol=1e-6,
        )
    # Weights that clients do not train have no momentum (D40).
    for index in {_SIGMA, _PHI, _KERNEL, _BIAS} - clients_train:
      np.testing.assert_array_equal(federation.velocity[index], 0)
    self.assertGreater(np.abs(federation.velocity[_PHI]).max(), 0)
    self.assertGreater(federation.sgd.num_clipped, 0)

  @pytest.mark.slow
  def test_masked_half_of_the_outputs_only_decays_d41(self):
    problem = linear_problem.LinearProblem()
    process = _build()
    state = process.initialize()
    before = state.global_model_weights.trainable
    state = process.next(state, problem.server_data, []).state
    after = state.global_model_weights.trainable
    # Six steps of rate 0.3: of nothing but g = 5e-4 * w.
    weight, buffer = np.asarray(before[_SIGMA][..., 2:], np.float64), 0.0
    for _ in range(6):
      gradient = 5e-4 * weight
      buffer = 0.9 * buffer + gradient
      weight = weight - 0.3 * (gradient + 0.9 * buffer)
    np.testing.assert_allclose(after[_SIGMA][..., 2:], weight, rtol=1e-5)
    self.assertGreater(
      np.abs(after[_SIGMA][..., :2] - before[_SIGMA][..., :2]).min(), 1e-3
    )

  @parameterized.named_parameters(('with_bugs', True), ('fixed', False))
  @pytest.mark.slow
  def test_who_trains_normalization_and_classifier_d41(self, reproduce_bugs):
    """A network of convolutions: server alone, then clients alone."""
    classifier = functional.from_keras(
      wide_resnet.create_wide_resnet(
        linear_reference.IMAGE_SHAPE,
        linear_reference.NUM_CLASSES,
        depth=4,
        width=1,
        pixel_mean=(0.5,),
        pixel_standard_deviation=(0.3,),
        create_convolution=(fedmatch_networks.create_decomposed_convolution),
      )
    )
    parts = fedmatch_networks.find_parts(classifier.trainable_names)
    problem = linear_problem.LinearProblem()
    process = _build(classifier, reproduce_bugs=reproduce_bugs)
    initial = process.initialize()
    tuned = process.next(initial, problem.server_data, []).state
    no_labels = linear_reference.labeled_dataset(
      problem.images[:0], problem.labels[:0]
    )
    trained = process.next(tuned, no_labels, problem.client_data([0, 1])).state
    for before, after, owned in (
      (initial, tuned, parts.sigma),
      (tuned, trained, parts.phi),
    ):
      foreign = parts.phi if owned is parts.sigma else parts.sigma
      for name, is_owned, is_foreign, old, new in zip(
        classifier.trainable_names,
        owned,
        foreign,
        before.global_model_weights.trainable,
        after.global_model_weights.trainable,
        strict=True,
      ):
        with self.subTest(name):
          is_trained = is_owned or (not reproduce_bugs and not is_foreign)
          self.assertEqual(np.any(old != new), is_trained)


if __name__ == '__main__':
  absltest.main()
