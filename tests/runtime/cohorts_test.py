# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the devices on which clients run."""

import json
import pathlib
import subprocess
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import pytest
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.experiment import python_experiment
from tff_semifl.experiment import task_registry
from tff_semifl.runtime import cohorts

_ROOT = pathlib.Path(__file__).parents[2]


class ClientPoolTest(parameterized.TestCase):
  @parameterized.parameters(
    (dict(max_concurrent_clients=0), 'max_concurrent_clients.* >= 1'),
    (dict(devices=['/device:TPU:7']), "'/device:CPU:0'.*, found .*TPU:7"),
    (dict(devices=[]), 'Expected `devices`'),
  )
  def test_bad_arguments_are_refused(self, kwargs, message):
    with self.assertRaisesRegex(ValueError, message):
      cohorts.ClientPool(**kwargs)


class GPUMemoryTest(absltest.TestCase):
  def test_grows_unless_it_is_too_late(self):
    """Also in experiments of Python programs."""
    too_late = RuntimeError('Physical devices cannot be modified')
    with (
      mock.patch.object(
        tf.config, 'list_physical_devices', return_value=['GPU:0', 'GPU:1']
      ),
      mock.patch.object(
        tf.config.experimental, 'set_memory_growth', side_effect=too_late
      ) as grow,
      self.assertRaisesRegex(settings.SettingError, '^system=none: '),
    ):
      python_experiment.create_experiment('none', task_registry.TASKS['digits'])
    self.assertEqual(
      grow.mock_calls, [mock.call('GPU:0', True), mock.call('GPU:1', True)]
    )


@pytest.mark.slow
class SeveralDevicesTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    completed = subprocess.run(
      [sys.executable, '-m', 'tests.runtime.several_devices'],
      cwd=_ROOT,
      capture_output=True,
      text=True,
      timeout=200,
    )
    assert completed.returncode == 0, completed.stderr
    cls._found = json.loads(completed.stdout)

  def test_clients_use_devices_in_turn_but_datasets_stay_on_the_cpu(self):
    self.assertEqual(self._found['default'], ['/device:CPU:0'])
    # Two devices run five clients. `tf.data` has only the first CPU, which
    # stands for the CPU of a machine with GPUs.
    self.assertEqual(
      self._found['computed'],
      [[f'CPU:{1 + client % 2}', 'CPU:0'] for client in range(5)],
    )

  def test_results_do_not_depend_on_devices_or_threads(self):
    first, *others = self._found['means']
    self.assertNotEqual(first, [[[1, 0], [0, 1]], 0])
    for other in others:
      self.assertEqual(first, other)


if __name__ == '__main__':
  absltest.main()
