# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of --threads_per_operation, in the real program."""

import csv
import os
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from tests import forked_programs
from tests import small_digits
from tff_semifl.experiments import runtimes

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
      variables={'TF_NUM_INTRAOP_THREADS': None},
    ).check_returncode()
    with pathlib.Path(folder, 'small/metrics.csv').open() as file:
      return [
        {name: value for name, value in row.items() if name != 'seconds'}
        for row in csv.DictReader(file)
      ]

  def test_numbers_do_not_depend_on_the_number_of_cores(self):
    if len(os.sched_getaffinity(0)) < 2:
      self.skipTest('there is but one core')
    one, two = (self._train(n, '--threads_per_operation=1') for n in (1, 2))
    self.assertEqual(one, two)
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
    chosen = runtimes.Threads(
      threads_per_operation=threads, max_concurrent_clients=clients
    )
    with mock.patch.object(os, 'sched_getaffinity', lambda _: range(num_cores)):
      self.assertEqual(chosen.num_clients, expected)

  def test_one_client_at_a_time_on_a_gpu(self):
    with mock.patch.object(
      tf.config, 'list_physical_devices', lambda _: ['a GPU']
    ):
      self.assertIsNone(runtimes.Threads(threads_per_operation=1).num_clients)


if __name__ == '__main__':
  absltest.main()
