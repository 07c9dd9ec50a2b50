# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of threads per operation, in the real program."""

import contextlib
import os
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import pytest
import tensorflow as tf

from tests import forked_programs
from tests.experiment import saved_run
from tests.launch import programs
from tff_semifl import runtime as runtime_lib
from tff_semifl.cli import commands
from tff_semifl.experiment import filled_settings
from tff_semifl.experiment import local_runtime
from tff_semifl.experiment import runtimes

_FEW = 32 * 32 * 32
_VARIABLE = 'TF_NUM_INTRAOP_THREADS'
_SAME = 'with any number of threads, numbers are the same on this processor'


@contextlib.contextmanager
def _new_program():
  """Yields a mock of TensorFlow's thread settings, as in a new program."""
  with (
    mock.patch.dict(os.environ),
    mock.patch.object(
      tf.config.threading, 'set_intra_op_parallelism_threads'
    ) as set_threads,
  ):
    os.environ.pop(_VARIABLE, None)
    os.environ.pop(runtime_lib.OWN_THREADS, None)
    yield set_threads


def _pixels(of_clients, of_server, of_inference=1):
  return local_runtime.BatchPixels(of_clients, of_server, of_inference)


def _few_pixels():
  return _pixels(1, 1)


def _count_batch_pixels(experiment):
  task = experiment.data.create_task()
  return filled_settings.count_batch_pixels(experiment, task)


class ThreadsTest(parameterized.TestCase):
  def _train(self, cores, *flags):
    """Trains on this number of cores; returns the rows without seconds."""
    folder = self.create_tempdir().full_path
    forked_programs.run(
      *programs.small_training(folder, '--total_rounds=1', *flags),
      cores=sorted(os.sched_getaffinity(0))[:cores],
      # The environment of the tests must not set the variable.
      variables={_VARIABLE: None},
    ).check_returncode()
    return saved_run.read_rows(pathlib.Path(folder, 'small'))

  @pytest.mark.slow
  def test_numbers_do_not_depend_on_the_number_of_cores(self):
    if len(os.sched_getaffinity(0)) < 2:
      self.skipTest('there is but one core')
    one = self._train(1, '--threads_per_operation=1')
    # For small images such as digits, the default is one thread.
    self.assertEqual(self._train(2), one)
    if self._train(2, '--threads_per_operation=2') == one:
      self.skipTest(_SAME)

  @parameterized.parameters(
    # Cores, threads, chosen concurrent clients, resulting concurrent clients.
    (8, 1, None, 8),
    (8, 3, None, 2),
    (2, 4, None, 1),
    (8, 1, 3, 3),
    (8, None, None, None),
  )
  def test_clients_at_a_time(self, num_cores, threads, clients, expected):
    chosen = local_runtime.InProcess(
      threads=local_runtime.Threads(
        threads_per_operation=threads, max_concurrent_clients=clients
      )
    )
    with mock.patch.object(os, 'sched_getaffinity', lambda _: range(num_cores)):
      self.assertEqual(chosen.num_clients, expected)

  @parameterized.parameters(
    # Small batches, of clients and, with few labels, also of the server.
    ({'client_batch_size': 16}, 16 * 8 * 8, 10 * 8 * 8),
    ({'num_labeled': 251}, 10 * 8 * 8, 250 * 8 * 8),
    ({'num_labeled': 251, 'server_batch_size': 12}, 10 * 8 * 8, 12 * 8 * 8),
    ({'task': 'cifar10', 'num_labeled': 250}, 10 * 32 * 32, 10 * 32 * 32),
  )
  def test_pixels_of_the_largest_batch(self, values, of_clients, of_server):
    command = commands.create('semifl', {'task': 'digits', **values})
    size = 32 if 'task' in values else 8
    self.assertEqual(
      _count_batch_pixels(command.experiment),
      (of_clients, of_server, 250 * size * size),
    )

  def test_chosen_number_of_threads(self):
    threads = local_runtime.Threads(threads_per_operation=3)
    with _new_program() as set_threads:
      runtimes.Ray(threads=threads).limit_threads(_few_pixels)
    set_threads.assert_called_once_with(3)

  @parameterized.parameters(
    # Pixels; threads by the flag, and the threads that result, for clients if
    # these have their own threads; and concurrent clients on eight cores.
    (_pixels(_FEW, _FEW), None, 1, None, 8),
    (_pixels(_FEW, _FEW + 1), None, 8, 1, 8),
    (_pixels(_FEW, _FEW, _FEW + 1), None, 8, 1, 8),
    (_pixels(_FEW + 1, _FEW), None, None, None, None),
    (_pixels(_FEW, _FEW), 4, 4, None, 2),
  )
  def test_threads_by_place(self, pixels, chosen, *expected):
    threads = local_runtime.Threads(threads_per_operation=chosen)
    with (
      _new_program() as set_threads,
      mock.patch.object(os, 'sched_getaffinity', lambda _: range(8)),
    ):
      limited = local_runtime.InProcess(threads=threads).limit_threads(
        lambda: pixels
      )
      self.assertSequenceEqual(
        (
          limited.threads.threads_per_operation,
          limited.client_threads,
          limited.num_clients,
        ),
        expected,
      )
      self.assertEqual(
        set_threads.mock_calls, [mock.call(expected[0])] if expected[0] else []
      )
      # The variable that gives each session its own threads.
      self.assertEqual(
        os.environ.get(runtime_lib.OWN_THREADS), expected[0] and 'true'
      )

  def test_where_threads_stay_as_they_are(self):
    runtime = local_runtime.InProcess()
    with _new_program() as set_threads:
      with mock.patch.dict(os.environ, {_VARIABLE: '4'}):
        self.assertEqual(runtime.limit_threads(_few_pixels), runtime)
      # Other machines may have other cores.
      ray = runtimes.Ray()
      self.assertEqual(ray.limit_threads(_few_pixels), ray)
      with mock.patch.object(
        tf.config, 'list_physical_devices', lambda _: ['a GPU']
      ):
        self.assertEqual(runtime.limit_threads(_few_pixels), runtime)
      set_threads.assert_not_called()
      set_threads.side_effect = RuntimeError('it has begun')
      self.assertEqual(runtime.limit_threads(_few_pixels), runtime)
      chosen = local_runtime.Threads(threads_per_operation=1)
      with self.assertRaisesRegex(RuntimeError, 'it has begun'):
        local_runtime.InProcess(threads=chosen).limit_threads(_few_pixels)


if __name__ == '__main__':
  absltest.main()
