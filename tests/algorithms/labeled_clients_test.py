# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of rounds in which some clients have labels, against NumPy."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tests import batch_label_reference
from tests import fix_mix_reference
from tests import linear_reference
from tests import simulation_test_case
from tests import small_systems
from tests.core import linear_problem
from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import flfl
from tff_semifl.data import pipelines

_COHORTS = ([], [2, 0, 1], [1, 2])


def _labels(client_id, *, given=True):
  """Client 0 has no labels, client 1 all, and client 2 all but two.

  As `given`, the labels of client 0 are empty, otherwise unknown.
  """
  labels = linear_problem.true_labels(client_id)
  if client_id == 0:
    return labels[:0] if given else np.full_like(labels, -1)
  if client_id == 2:
    labels[[0, 3]] = -1
  return labels


class LabeledClientsTest(simulation_test_case.SimulationTestCase):
  def test_types(self):
    """Only clients that may have labels have a place for them."""
    shape = linear_reference.IMAGE_SHAPE
    for system_name, expected in {
      'semifl': pipelines.client_type(shape),
      'semifl_server_and_clients': pipelines.labeled_client_type(shape),
      'fixmatch_labeled_clients': pipelines.labeled_client_type(shape),
    }.items():
      process = linear_problem.build(system_name)
      found = process.next.type_signature.parameter.client_data.member
      self.assertEqual(found, expected)

  @parameterized.named_parameters(
    (
      'fixmatch',
      'fixmatch_labeled_clients',
      batch_label_reference.train_client,
    ),
    (
      'semifl',
      'semifl_server_and_clients',
      functools.partial(fix_mix_reference.train_client, mix_loss_weight=1.0),
    ),
  )
  def test_rounds_equal_numpy(self, system_name, reference):
    problem = linear_problem.LinearProblem()
    process = linear_problem.build(system_name)
    for round_num, cohort, federation, output in linear_problem.follow(
      process, _COHORTS, have_labels=_labels
    ):
      rounds = [
        problem.train_client(
          reference,
          federation.sgd.weights,
          client_id,
          round_num,
          threshold=linear_problem.THRESHOLD,
          true_labels=_labels(client_id, given=False),
        )
        for client_id in cohort
      ]
      # Clients have the weights of the images that they train on.
      counting = [each for each in rounds if each.num_examples]
      federation.average(
        [each.weights for each in counting],
        [each.num_examples for each in counting],
      )
      if system_name == 'semifl_server_and_clients':
        problem.train_server(federation.sgd, round_num)
      num_unlabeled = sum(
        np.sum(_labels(client_id, given=False) < 0) for client_id in cohort
      ) * (1 if system_name.startswith('semifl') else 2)
      if rounds:
        found = output.metrics['client']
        self.assertEqual(found['num_participating'], len(counting))
        # True labels are no pseudo-labels.
        np.testing.assert_allclose(
          found['label_ratio'],
          sum(each.num_confident for each in rounds) / num_unlabeled,
          rtol=1e-6,
        )

  def test_clients_with_labels_have_a_weight_by_learning_status(self):
    problem = linear_problem.LinearProblem()
    system = averaging.LabeledClients(client=flfl.FLFL.client)
    process = settings.change_present(system, linear_problem.SETTINGS).build(
      small_systems.create_ingredients(seed=linear_problem.SEED)
    )
    state = process.initialize()._replace(round_num=1)
    output = process.next(state, [], problem.labeled_client_data([1]))
    self.assertEqual(output.metrics['client']['num_participating'], 1)

  def test_labels_alone(self):
    problem = linear_problem.LinearProblem()
    process = linear_problem.build('labeled_clients_alone')
    for round_num, cohort, federation, output in linear_problem.follow(
      process, ([], [0, 1], [0]), have_labels=_labels
    ):
      labeled = [client_id for client_id in cohort if client_id == 1]
      federation.average(
        [
          problem.train_on_labels(
            federation.sgd.weights,
            problem.clients[client_id][1],
            _labels(client_id),
            client_id,
            round_num,
          )
          for client_id in labeled
        ]
      )
      # Client 0, without labels, has no update.
      found = output.metrics['client']['num_participating']
      self.assertEqual(found, len(labeled))


if __name__ == '__main__':
  absltest.main()
