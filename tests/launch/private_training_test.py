# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the real program with noise, and with clients that drop out."""

import csv
import os
import pathlib
import signal
import subprocess
import sys
import time

from absl.testing import absltest

from tests.programs import saved_run
from tff_semifl.programs import privacy

_ROOT = pathlib.Path(__file__).parents[2]
_ROUNDS = 3


def _command(folder):
  return [
    sys.executable,
    '-m',
    'launch.train_semifl',
    '--task=digits',
    '--num_clients=10',
    '--clients_per_round=4',
    '--client_epochs=1',
    '--server_epochs=1',
    # The untrained model is sure enough, so that clients train.
    '--confidence_threshold=0.12',
    f'--total_rounds={_ROUNDS}',
    '--model_width=1',
    '--aggregator=differential_privacy',
    '--noise_multiplier=2',
    '--clipping_norm=0.5',
    '--privacy_delta=0.01',
    '--client_dropout_probability=0.5',
    '--experiment_name=small',
    f'--output_dir={folder}',
  ]


def _run(folder):
  return subprocess.run(
    _command(folder), cwd=_ROOT, capture_output=True, text=True, timeout=200
  )


class PrivateTrainingTest(absltest.TestCase):
  def test_killed_run_resumes_to_the_same_noise_and_says_what_it_cost(self):
    whole, killed = (
      pathlib.Path(self.create_tempdir(name).full_path)
      for name in ('whole', 'killed')
    )
    completed = _run(whole)
    self.assertEqual(completed.returncode, 0, completed.stderr)
    epsilons = [
      privacy.compute_epsilon(
        noise_multiplier=2.0,
        num_clients=10,
        clients_per_round=4,
        num_rounds=num_rounds,
        delta=0.01,
      )
      for num_rounds in range(_ROUNDS + 1)
    ]
    self.assertIn(
      f'privacy: epsilon {epsilons[-1]:.4g} at delta 0.01 after 3 rounds\n',
      completed.stdout,
    )
    with (whole / 'small' / 'metrics.csv').open() as file:
      rows = list(csv.DictReader(file))
    for row, epsilon in zip(rows, epsilons, strict=True):
      self.assertAlmostEqual(float(row['aggregator/epsilon']), epsilon)
    dropped = [float(row['client/num_dropped']) for row in rows]
    self.assertEqual(dropped[0], 0)
    self.assertBetween(sum(dropped), 1, 4 * _ROUNDS - 1)

    process = subprocess.Popen(
      _command(killed),
      cwd=_ROOT,
      stdout=subprocess.DEVNULL,
      stderr=subprocess.DEVNULL,
    )
    checkpoint = killed / 'small' / 'checkpoints' / 'program_state_1.npz'
    deadline = time.monotonic() + 150
    while not checkpoint.exists() and time.monotonic() < deadline:
      time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    completed = _run(killed)
    self.assertEqual(completed.returncode, 0, completed.stderr)
    self.assertIn('resumed after round', completed.stderr)
    self.assertEqual(
      saved_run.read(killed / 'small'), saved_run.read(whole / 'small')
    )


if __name__ == '__main__':
  absltest.main()
