# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of facts and warnings before and during training."""

import contextlib
import dataclasses
import io
import math
import types

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tests import small_digits
from tests import small_systems
from tests.experiment import some_metrics
from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.data import sources
from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import progress
from tff_semifl.experiment import system_registry
from tff_semifl.experiment import training_warnings


def _round(accuracy, label_ratio, **client):
  """Metrics of a round, by default without true labels."""
  values = {
    'micro_threshold_accuracy': math.nan,
    'num_participating': 2.0,
    'own': {},
  }
  metrics = some_metrics.create(accuracy, label_ratio, 1.0)
  return metrics._replace(
    client=metrics.client._replace(**values | client),
    server=metrics_table.ServerMetrics(0.5, 0.875),
  )


_UNLABELED = _round(0.25, 0.0, own={metrics_table.HIGHEST_CONFIDENCE: 0.625})
_ABSENT = _round(0.25, math.nan, num_participating=0.0, num_dropped=4.0)


class TrainingWarningsTest(parameterized.TestCase):
  def _watch(self, *rounds, first_round=1, **options):
    """The warnings of some rounds."""
    chosen = {
      'clients_per_round': 4,
      'num_test_images': 1000,
      'system': 'semifl',
      **options,
    }
    watcher = training_warnings.TrainingWarnings(
      'mine',
      types.SimpleNamespace(
        clients=types.SimpleNamespace(
          clients_per_round=chosen['clients_per_round']
        ),
        task=types.SimpleNamespace(num_classes=2),
        data=types.SimpleNamespace(
          test=sources.LabeledImages((), range(chosen['num_test_images']))
        ),
        settings=types.SimpleNamespace(
          system=system_registry.SYSTEMS[chosen['system']]
        ),
      ),
    )
    with self.assertLogs(level='WARNING') as logs:
      # Without a warning, `assertLogs` would fail.
      training_warnings.logging.warning('begin')
      for round_num, metrics in enumerate(rounds, first_round):
        watcher.check_round(round_num, metrics)
    return logs.output[1:]

  def test_no_pseudo_label_for_several_rounds(self):
    self.assertEmpty(self._watch(*[_UNLABELED] * 4))
    (line,) = self._watch(*[_UNLABELED] * 80)
    for known in ('mine: ', '0.625', 'threshold is 0.95', '87.5%'):
      self.assertIn(known, line)
    # Rounds without clients do not reset the count.
    self.assertLen(self._watch(*[_UNLABELED] * 4, _ABSENT, _UNLABELED), 1)
    self.assertEmpty(self._watch(*[_UNLABELED] * 5, first_round=0))

  def test_system_of_which_less_is_known(self):
    metrics = _round(0.25, 0.0)._replace(
      server=metrics_table.ServerMetrics(math.nan, math.nan)
    )
    (line,) = self._watch(*[metrics] * 5, system='labels_alone')
    self.assertNotIn('threshold', line)
    self.assertNotIn('nan', line)

  @parameterized.named_parameters(
    # An accuracy of 50% on 1,000 images is at most 53.09%; 99.9% are labeled.
    ('two_classes_at_chance', _round(0.5, 0.999), '46.9%'),
    ('known', _round(0.9, 0.75, micro_threshold_accuracy=0.7), '30.0%'),
    # An accuracy of 90% is at most 91.7%; all images are labeled.
    ('nothing_is_left_out', _round(0.9, 1.0), '8.3%'),
  )
  def test_many_are_wrong(self, metrics, share):
    self.assertEmpty(self._watch(metrics, metrics))
    (line,) = self._watch(*[metrics] * 9)
    self.assertIn(share, line)
    self.assertIn('no confidence is below 0.5', line)

  @parameterized.named_parameters(
    ('accurate', _round(0.97, 1.0)),
    ('of_few_test_images', _round(0.9, 1.0)),
    ('known', _round(0.5, 0.75, micro_threshold_accuracy=0.9)),
  )
  def test_nothing_is_said_of_what_may_be_right(self, metrics):
    self.assertEmpty(self._watch(*[metrics] * 9, num_test_images=20))

  def test_progress_in_a_terminal_stays_readable(self):
    stream = io.StringIO()
    stream.isatty = lambda: True
    with contextlib.redirect_stderr(stream), progress.Display('run', 9) as bar:
      bar.show('round 1/9', 2)
      before = stream.tell()
      self._watch(*[_UNLABELED] * 5)
    # The bar is erased, and drawn again below.
    erased, _, drawn = stream.getvalue()[before:].strip('\r').partition('\r')
    self.assertEqual(erased.strip(), '')
    self.assertIn('round 1/9', drawn)


class BeforeTrainingTest(absltest.TestCase):
  def _create(self, system='semifl', **changes):
    command = commands.create(
      system,
      {
        **small_digits.SETTINGS,
        'num_clients': 4,
        'clients_per_round': 2,
        'output_dir': self.create_tempdir().full_path,
        **changes,
      },
    )
    with small_systems.without_computations():
      return command.create_experiment()

  def _find(self, **changes):
    return list(training_warnings.find_problems(self._create(**changes)))

  def test_server_that_trains_before(self):
    self.assertEmpty(self._find(server_epochs=0, server_pretraining_epochs=9))

  def test_class_that_no_label_has(self):
    # With a few images of two classes each, one client cannot have all classes.
    (problem,) = self._find(
      system='fixmatch_labeled_clients',
      partition='classes',
      num_clients=10,
      labeled_client_share=0.1,
    )
    self.assertRegex(problem, r'^no label .* of class (\d, ){7}\d, which')
    experiment = self._create(
      system='fixmatch_labeled_clients', labeled_client_share=0.5
    )
    self.assertEmpty([*training_warnings.find_problems(experiment)])
    # Two of four clients have half of 1,437 images, of which one has no client.
    self.assertIn('at the server: 0, at clients: 718\n', repr(experiment))

  def test_nothing_that_trains(self):
    for system, changes in (
      ('fixmatch_labeled_clients', {'labeled_client_share': 0.5}),
      # The server's labels only test the network.
      ('client_prior_network', {}),
    ):
      with self.assertRaisesRegex(
        settings.SettingError, '^clients_per_round=0: nothing would be trained'
      ):
        self._create(system=system, clients_per_round=0, **changes)

  def test_server_that_never_trains(self):
    (problem,) = self._find(server_epochs=0)
    self.assertIn('--server_epochs (now 0', problem)

  def test_classes_without_an_image(self):
    experiment = self._create()
    test = experiment.data.test
    kept = test.select(np.flatnonzero(~np.isin(test.labels, [2, 7])))
    found = dataclasses.replace(
      experiment, data=experiment.data._replace(test=kept)
    )
    (problem,) = training_warnings.find_problems(found)
    self.assertIn('class 2, 7', problem)
    self.assertIn('8 of 10 classes', problem)
    self.assertIn('8 of 10 classes', training_warnings.find_facts(found)[0])

  def test_numbers_of_labels_are_said_if_they_differ(self):
    said = 'the server has'
    facts = '\n'.join(training_warnings.find_facts(self._create()))
    self.assertNotIn(said, facts)
    # Of 50 labels, one of each of three classes is for validation.
    facts = '\n'.join(
      training_warnings.find_facts(self._create(num_validation=3))
    )
    self.assertRegex(facts, f'{said} 47 labels, from 4 of \\d to 5 of \\d; ')
    self.assertNotIn('--server_logit_adjustment', facts)

  def test_images_without_a_client_are_said(self):
    # 1387 = 19 * 73, which is not divisible by 7.
    for num_clients, is_said in ((19, False), (7, True)):
      facts = '\n'.join(
        training_warnings.find_facts(self._create(num_clients=num_clients))
      )
      self.assertEqual('1 of 1387 images have no client' in facts, is_said)


if __name__ == '__main__':
  absltest.main()
