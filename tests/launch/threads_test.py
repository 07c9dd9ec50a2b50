# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of --threads_per_operation, in the real program."""

import contextlib
import csv
import dataclasses
import math
import os
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import pytest
import tensorflow as tf

from tests import forked_programs
from tests import small_digits
from tff_semifl import settings
from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.experiments import filled_settings
from tff_semifl.experiments import runtimes
from tff_semifl.experiments import threads as threads_lib
from tff_semifl.launch import commands
from tff_semifl.systems import system

_VARIABLE = 'TF_NUM_INTRAOP_THREADS'
_FLAGS = (
  *small_digits.FLAGS,
  '--num_clients=10',
  '--clients_per_round=2',
  '--client_epochs=1',
  '--server_epochs=1',
  '--confidence_threshold=0.2',
  '--total_rounds=1',
  '--experiment_name=small',
)


@dataclasses.dataclass(frozen=True)
class _SystemWithoutBatches(settings.Settings):
  labels = system.Labels.AT_SERVER


@dataclasses.dataclass(frozen=True)
class _SystemOfUnknownBatches(_SystemWithoutBatches):
  unlabeled_batch_size: int | None = settings.setting(None, 'Unknown.')


@contextlib.contextmanager
def _new_program():
  """Yields a mock of what sets threads, as if TensorFlow had not begun."""
  with (
    mock.patch.dict(os.environ),
    mock.patch.object(
      tf.config.threading, 'set_intra_op_parallelism_threads'
    ) as set_threads,
  ):
    os.environ.pop(_VARIABLE, None)
    yield set_threads


def _count_batch_pixels(experiment):
  task = experiment_lib.create_task(experiment.data)
  return filled_settings.count_batch_pixels(experiment, task)


class ThreadsTest(parameterized.TestCase):
  def _train(self, cores, *flags):
    """Trains on so many cores, and returns the rows without the seconds."""
    folder = self.create_tempdir().full_path
    forked_programs.run(
      'launch.train',
      'semifl',
      *_FLAGS,
      f'--output_dir={folder}',
      *flags,
      cores=sorted(os.sched_getaffinity(0))[:cores],
      # What the tests are run with must not do what the flag is to do.
      variables={_VARIABLE: None},
    ).check_returncode()
    with pathlib.Path(folder, 'small/metrics.csv').open() as file:
      return [
        {name: value for name, value in row.items() if name != 'seconds'}
        for row in csv.DictReader(file)
      ]

  @pytest.mark.slow
  def test_numbers_do_not_depend_on_the_number_of_cores(self):
    if len(os.sched_getaffinity(0)) < 2:
      self.skipTest('there is but one core')
    one = self._train(1, '--threads_per_operation=1')
    # Digits are small, so that it is the default, too.
    self.assertEqual(self._train(2), one)
    # To see that this says something.
    self.assertNotEqual(self._train(2, '--threads_per_operation=2'), one)

  @parameterized.parameters(
    # Cores, threads, clients at a time as flags say, and as they are.
    (8, 1, None, 8),
    (8, 3, None, 2),
    (2, 4, None, 1),
    (8, 1, 3, 3),
    (8, None, None, None),
  )
  def test_clients_at_a_time(self, num_cores, threads, clients, expected):
    chosen = threads_lib.Threads(
      threads_per_operation=threads, max_concurrent_clients=clients
    )
    with mock.patch.object(os, 'sched_getaffinity', lambda _: range(num_cores)):
      self.assertEqual(chosen.num_clients, expected)

  @parameterized.parameters(
    # The server's batches are as small with few labels (D4).
    ({'client_batch_size': 16}, 16 * 8 * 8),
    ({'client_batch_size': 5}, 10 * 8 * 8),
    ({'num_labeled': 251}, 250 * 8 * 8),
    ({'num_labeled': 251, 'server_batch_size': 12}, 12 * 8 * 8),
    ({'task': 'cifar10', 'num_labeled': 250}, 10 * 32 * 32),
  )
  def test_pixels_of_the_largest_batch(self, values, expected):
    command = commands.create('semifl', {'task': 'digits', **values})
    self.assertEqual(_count_batch_pixels(command.experiment), expected)

  @parameterized.parameters('fixmatch', 'labels_alone', 'all_labels')
  def test_batches_where_there_are_no_clients(self, system_name):
    command = commands.create(system_name, {'task': 'digits'})
    self.assertEqual(_count_batch_pixels(command.experiment), math.inf)

  @parameterized.parameters(_SystemWithoutBatches(), _SystemOfUnknownBatches())
  def test_batches_of_which_settings_say_nothing(self, own_system):
    experiment = commands.create('semifl', {'task': 'digits'}).experiment
    experiment = dataclasses.replace(experiment, system=own_system)
    self.assertEqual(_count_batch_pixels(experiment), math.inf)

  @parameterized.parameters(
    # Pixels, threads as the flag says, and as they are.
    (32 * 32 * 32, None, 1),
    (32 * 32 * 32 + 1, None, None),
    (math.inf, None, None),
    (640, 3, 3),
    (math.inf, 3, 3),
  )
  def test_one_thread_for_small_batches(self, pixels, chosen, expected):
    threads = threads_lib.Threads(threads_per_operation=chosen)
    with (
      _new_program() as set_threads,
      mock.patch.object(os, 'sched_getaffinity', lambda _: range(8)),
    ):
      for runtime in (runtimes.InProcess, runtimes.Native):
        limited = runtime(threads=threads).limit_threads(lambda: pixels)
        self.assertEqual(limited.threads.threads_per_operation, expected)
        self.assertEqual(
          limited.threads.num_clients,
          None if expected is None else max(1, 8 // expected),
        )
      self.assertEqual(
        set_threads.mock_calls, [mock.call(expected)] * 2 if expected else []
      )
      # A worker of TFF has as many.
      limited.context()
      self.assertEqual(
        os.environ.get(_VARIABLE), None if expected is None else f'{expected}'
      )

  def test_batches_of_clients_at_once(self):
    runtime = runtimes.InProcess(clients_at_once=4)
    with _new_program():
      for pixels, expected in ((8 * 32 * 32, 1), (8 * 32 * 32 + 1, None)):
        limited = runtime.limit_threads(lambda pixels=pixels: pixels)
        self.assertEqual(limited.threads.threads_per_operation, expected)

  def test_each_command_of_a_program_limits_threads(self):
    command = commands.create('semifl', {'task': 'digits'})
    with _new_program() as set_threads:
      for seed in (1, 2):
        with settings.change(command, {'seed': seed}).context():
          pass
    self.assertEqual(set_threads.mock_calls, [mock.call(1)] * 2)

  def test_where_threads_stay_as_they_are(self):
    runtime = runtimes.InProcess()
    with _new_program() as set_threads:
      with mock.patch.dict(os.environ, {_VARIABLE: '4'}):
        self.assertEqual(runtime.limit_threads(lambda: 1), runtime)
      # On other machines, there may be other cores.
      self.assertEqual(runtimes.Ray().limit_threads(lambda: 1), runtimes.Ray())
      with mock.patch.object(
        tf.config, 'list_physical_devices', lambda _: ['a GPU']
      ):
        self.assertEqual(runtime.limit_threads(lambda: 1), runtime)
      set_threads.assert_not_called()
      set_threads.side_effect = RuntimeError('it has begun')
      self.assertEqual(runtime.limit_threads(lambda: 1), runtime)
      chosen = threads_lib.Threads(threads_per_operation=1)
      with self.assertRaisesRegex(RuntimeError, 'it has begun'):
        runtimes.InProcess(threads=chosen).limit_threads(lambda: 1)

  def test_one_client_at_a_time_on_a_gpu(self):
    with mock.patch.object(
      tf.config, 'list_physical_devices', lambda _: ['a GPU']
    ):
      self.assertIsNone(
        threads_lib.Threads(threads_per_operation=1).num_clients
      )


if __name__ == '__main__':
  absltest.main()
