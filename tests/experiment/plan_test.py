# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of facts and warnings before training."""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from tests import small_digits
from tests import small_systems
from tff_semifl.cli import commands
from tff_semifl.experiment import plan
from tff_semifl.experiment import running


class BeforeTrainingTest(parameterized.TestCase):
  def _command(self, system='semifl', **changes):
    return commands.create(
      system,
      {
        **small_digits.SETTINGS,
        'num_clients': 4,
        'clients_per_round': 2,
        'total_rounds': 1,
        'experiment_name': 'small',
        'output_dir': self.create_tempdir().full_path,
        **changes,
      },
    )

  def _find(self, *arguments, **changes):
    experiment = self._command(*arguments, **changes).create_experiment()
    return list(plan.find_problems(experiment))

  @parameterized.named_parameters(
    ('longer_round_0', {'server_epochs': 0, 'server_pretraining_epochs': 9}),
    ('threshold', {'confidence_threshold': 0.11}),
  )
  def test_nothing_is_said_of(self, changes):
    changes = dict(changes)
    self.assertEmpty(self._find(changes.pop('system', 'semifl'), **changes))

  def test_server_that_never_trains(self):
    (problem,) = self._find(server_epochs=0)
    self.assertIn('--server_epochs (now 0', problem)

  def test_threshold_that_leaves_out_nothing(self):
    # The most probable of ten classes has a tenth at least.
    (problem,) = self._find(confidence_threshold=0.1)
    self.assertIn('--confidence_threshold=0.1', problem)
    self.assertIn('10 classes', problem)

  def test_numbers_of_labels_are_said_if_they_differ(self):
    self.enter_context(small_systems.without_process('semifl'))
    equal = self._command().create_experiment()
    self.assertIsNone(plan.describe_imbalance(equal))
    # Of 50 labels, one of each of three classes is for validation.
    other = self._command(num_validation=3).create_experiment()
    line = plan.describe_imbalance(other)
    self.assertRegex(
      line, r'^the server has 47 labels, from 4 of \d to 5 of \d; '
    )
    self.assertNotIn('--server_logit_adjustment', line)
    self.assertIn(line, plan.find_facts(other))

  def test_images_without_a_client_are_said(self):
    self.enter_context(small_systems.without_process('semifl'))
    # 1387 = 19 * 73, of which 7 is no divisor.
    for num_clients, number in ((19, 0), (7, 1)):
      experiment = self._command(num_clients=num_clients).create_experiment()
      images = len(experiment.data.unlabeled.true_labels)
      said = [
        each
        for each in plan.find_facts(experiment)
        if f'{images % num_clients} of {images} images have no client' in each
      ]
      self.assertLen(said, number)

  def test_is_said_before_the_first_round_and_logged(self):
    command = self._command(server_epochs=0)
    experiment = command.create_experiment()
    folder = command.open_folder(experiment)
    self.enter_context(
      mock.patch.object(running.saved_model, 'export_saved_model')
    )
    with self.assertLogs(level='WARNING') as logs, command.context():
      running.run(experiment, folder, quiet=True)
    (line,) = logs.output
    self.assertIn('small: the server takes no step', line)
    log = (folder.path / 'log.txt').read_text()
    before, round_0, _ = log.partition('round 0')
    self.assertNotEmpty(round_0)
    self.assertIn('WARNING small: the server takes no step', before)
    # A complete run has no first round.
    with self.assertNoLogs(level='WARNING'), command.context():
      running.run(experiment, folder, quiet=True)


if __name__ == '__main__':
  absltest.main()
