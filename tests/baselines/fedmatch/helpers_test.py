# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the choice of helpers, and of resuming with stored models (D.6)."""

import asyncio
import dataclasses
import functools
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests import decomposed_reference
from tests import linear_reference
from tests import simulation_test_case
from tests import small_systems
from tests.experiment import linear_program
from tff_semifl.baselines.fedmatch import fedmatch_training
from tff_semifl.baselines.fedmatch import helpers as helpers_lib
from tff_semifl.core import evaluation
from tff_semifl.experiment import checkpoints
from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import training
from tff_semifl.files import durable_files

_NUM_CLIENTS = 4


@functools.cache
def _build_process(consistency=2.0):
  classifier = decomposed_reference.create_classifier()
  system = dataclasses.replace(
    small_systems.create(
      'fedmatch', {'learning_rate': 0.03, 'confidence_threshold': 0.4}
    ),
    client_loss_weights=fedmatch_training.ClientLossWeights(
      consistency=consistency, agreement=0.5, l1=0.01, l2=0.1
    ),
  )
  process = system.build(
    small_systems.create_ingredients(
      classifier=classifier,
      strong_augmentation=linear_reference.inverted,
      returns_given_labels=True,
    )
  )
  return classifier, process


class _Recorder(helpers_lib.Helpers):
  """Notes which helpers clients are sent."""

  sent = ()

  def recall(self, held, round_num, cohort):
    memories = super().recall(held, round_num, cohort)
    self.sent = (*self.sent, [[np.array(t) for t in each] for each in memories])
    return memories


class ChooseHelpersTest(parameterized.TestCase):
  def test_equals_brute_force(self):
    generator = np.random.default_rng(0)
    outputs = generator.dirichlet(np.ones(10), size=40)
    unknown = generator.choice(40, 12, replace=False)
    outputs[unknown] = np.nan
    clients = generator.permutation(40)[:15].tolist()
    self.assertNotEmpty(set(clients) & set(unknown.tolist()))
    for client, found in zip(
      clients,
      helpers_lib.choose_helpers(outputs, clients, 2),
      strict=True,
    ):
      expected = []
      if client not in unknown:
        distances = {
          other: np.linalg.norm(outputs[other] - outputs[client])
          for other in range(40)
          if other != client and other not in unknown
        }
        expected = sorted(distances, key=distances.get)[:2]
      self.assertEqual(list(found), expected)

  def test_nobody_helps_itself_even_among_equals(self):
    outputs = np.ones([5, 3])
    for client, found in enumerate(
      helpers_lib.choose_helpers(outputs, range(5), 2)
    ):
      self.assertLen(set(found), 2)
      self.assertNotIn(client, found)

  def test_no_helpers_before_there_are_enough(self):
    outputs = np.full([4, 3], np.nan)
    outputs[:2] = [[1, 0, 0], [0, 1, 0]]
    self.assertEqual(helpers_lib.choose_helpers(outputs, [0, 1], 2), [(), ()])
    outputs[3] = [0, 0, 1]
    found = helpers_lib.choose_helpers(outputs, [0, 2], 2)
    self.assertEqual([sorted(each) for each in found], [[1, 3], []])


class HelpersTest(simulation_test_case.SimulationTestCase):
  def _create(self, folder, total_rounds, **kwargs):
    """Rounds 3 and 6 have helpers; two of four clients are in a round."""
    classifier, process = _build_process(**kwargs)
    program = dataclasses.replace(
      linear_program.create_program(total_rounds),
      process=process,
      evaluation=evaluation.build_evaluation(classifier),
    )
    return program, _Recorder(
      process,
      pathlib.Path(folder, 'clients'),
      num_clients=_NUM_CLIENTS,
      rounds_per_help=3,
      num_kept=3,
    )

  def _train(self, folder, total_rounds, **kwargs):
    """Returns the last state, and which helpers clients were sent."""
    program, helpers = self._create(folder, total_rounds, **kwargs)
    final = asyncio.run(
      training.train(
        program,
        checkpoints=checkpoints.Checkpoints(
          pathlib.Path(folder, 'states'), num_kept=3
        ),
        metrics_manager=metrics_table.MetricsFile(
          pathlib.Path(folder, 'metrics.csv')
        ),
        memories=helpers,
        on_start=lambda _: None,
        on_round=lambda *_: None,
      )
    )
    return final, helpers.sent

  @pytest.mark.slow
  def test_helpers_come_every_so_many_rounds_to_those_that_are_known(self):
    folder = self.create_tempdir().full_path
    program, helpers = self._create(folder, 6)
    process, clients = program.process, program.clients
    state = process.initialize()
    known, models = set(), {}
    num_helped = 0
    for round_num in range(7):
      cohort = clients.cohort(round_num)
      output = process.next(
        state,
        program.server_dataset,
        clients.datasets(round_num),
        helpers.recall((), round_num, cohort),
      )
      state = output.state
      helpers.keep((), round_num, cohort, output.memories)
      for client, (sent,) in zip(cohort, helpers.sent[-1], strict=True):
        # Two helpers are chosen among at most four other known clients.
        is_helped = round_num % 3 == 0 and client in known and len(known) > 2
        self.assertLen(sent, 2 if is_helped else 0)
        num_helped += is_helped
        for helper in sent:
          self.assertTrue(
            any(
              np.array_equal(helper, model)
              for other, model in models.items()
              if other != client
            )
          )
      known |= set(cohort)
      for client in cohort:
        (models[client],) = helpers._models.load([client], round_num + 1)[0]
    self.assertGreater(num_helped, 0)

  def test_resumed_run_equals_one_that_ran_through(self):
    whole, cut = (self.create_tempdir(name).full_path for name in ('a', 'b'))
    expected, _ = self._train(whole, 6)
    self._train(cut, 5)
    # Round 5, in which clients left models, is run again.
    pathlib.Path(cut, 'states/program_state_5.npz').unlink()
    found, (_, sent_last) = self._train(cut, 6)
    # Round 6 has helpers.
    self.assertGreater(sum(len(sent) for (sent,) in sent_last), 0)
    for a, b in zip(
      tf.nest.flatten(expected), tf.nest.flatten(found), strict=True
    ):
      np.testing.assert_array_equal(a, b)
    for path in sorted(pathlib.Path(whole, 'clients').glob('*/*/*.npz')):
      other = pathlib.Path(cut, path.relative_to(whole))
      a, b = map(durable_files.read_arrays, (path, other))
      np.testing.assert_equal(a, b)


if __name__ == '__main__':
  absltest.main()
