# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for the worker process and the context that uses it."""

import collections
import os
import pathlib
import signal
import subprocess
import sys
import time
from unittest import mock

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import errors
from tff_semifl.runtime import native
from tff_semifl.runtime import tied_process
from tff_semifl.runtime import worker as worker_lib

# Does not close the worker.
_SCRIPT = """
import time
from tff_semifl import runtime
worker = runtime.Worker()
print(worker.pid, flush=True)
{then}
"""


@tff.federated_computation(tff.FederatedType(np.int32, tff.CLIENTS))
def _sum(values):
  return tff.federated_sum(values)


@tff.tensorflow.computation(np.int32)
def _add_one(value):
  return value + 1


@tff.federated_computation(tff.FederatedType(np.int32, tff.CLIENTS))
def _add_one_and_sum(values):
  added = tff.federated_map(_add_one, values)
  return added, collections.OrderedDict(
    parts=added, sum=tff.federated_sum(added)
  )


def _exists(pid):
  """Returns whether there is a process of this id that has not ended."""
  try:
    stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
  except FileNotFoundError:
    return False
  # A process that ended but was not waited for: some containers have no init.
  return stat.rpartition(')')[2].split()[0] != 'Z'


def _wait_until_gone(pid):
  deadline = time.monotonic() + 10
  while _exists(pid) and time.monotonic() < deadline:
    time.sleep(0.05)
  return not _exists(pid)


class WorkerTest(parameterized.TestCase, tf.test.TestCase):
  def _start_script(self, then):
    """Starts a script that prints the worker's id, its output in a pipe."""
    script = subprocess.Popen(
      [sys.executable, '-c', _SCRIPT.format(then=then)],
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
      env={
        **os.environ,
        'PYTHONPATH': os.pathsep.join(p for p in sys.path if p),
        'TF_CPP_MIN_LOG_LEVEL': '3',
      },
    )
    self.addCleanup(script.communicate)
    self.addCleanup(script.kill)
    return script, int(script.stdout.readline())

  def test_lives_until_closed(self):
    worker = worker_lib.Worker()
    self.assertTrue(worker.is_running)
    self.assertTrue(worker.log_file.exists())
    worker.close()
    self.assertFalse(worker.is_running)
    self.assertFalse(worker.log_file.exists())
    worker.close()  # Does no harm.

  def test_writes_to_the_log_file_given(self):
    log_file = pathlib.Path(self.create_tempdir(), 'log')
    log_file.write_text('former\n')
    worker = worker_lib.Worker(log_file=log_file)
    # The file that is the standard output of the process.
    self.assertEqual(
      pathlib.Path(f'/proc/{worker.pid}/fd/1').resolve(), log_file.resolve()
    )
    worker.close()
    self.assertStartsWith(log_file.read_text(), 'former\n')

  def test_start_that_fails_is_an_error(self):
    with mock.patch.object(
      tied_process, '_LAUNCHER', 'import sys; sys.exit("no luck")'
    ):
      with self.assertRaisesRegex(
        errors.WorkerError, '(?s)did not start.*status 1.*worker.log.*no luck'
      ):
        worker_lib.Worker()

  @pytest.mark.slow
  def test_ends_with_the_interpreter(self):
    script, pid = self._start_script('raise ValueError')
    # Returns when all processes have closed the pipe, also the worker.
    script.communicate(timeout=30)
    self.assertEqual(script.returncode, 1)
    self.assertFalse(_exists(pid))

  @pytest.mark.slow
  def test_ends_when_this_process_is_killed(self):
    script, pid = self._start_script('time.sleep(60)')
    self.assertTrue(_exists(pid))
    script.kill()
    script.communicate(timeout=30)
    self.assertTrue(_wait_until_gone(pid))


class NativeContextTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self._worker = worker_lib.Worker()
    self.addCleanup(self._worker.close)

  def test_what_no_clients_have_is_an_empty_list(self):
    context = native.NativeContext(self._worker)
    for values in ([1, 2], [], [4], []):
      added = [value + 1 for value in values]
      self.assertEqual(
        context.invoke(_add_one_and_sum, values),
        (added, collections.OrderedDict(parts=added, sum=sum(added))),
      )

  def test_executors_are_closed_when_others_take_their_place(self):
    with mock.patch.object(
      tff.framework.RemoteExecutor,
      'close',
      autospec=True,
      side_effect=tff.framework.RemoteExecutor.close,
    ) as close:
      context = native.NativeContext(self._worker)
      for num_clients in (1, 2, 3, 1, 2, 3):
        context.invoke(_sum, [1] * num_clients)
      close.assert_not_called()
      # The fourth takes the place of the one used least recently: for one.
      context.invoke(_sum, [1] * 4)
      close.assert_called_once()
      context.invoke(_sum, [1] * 2)
      close.assert_called_once()

  def test_error_in_a_computation_leaves_the_context_usable(self):
    @tff.tensorflow.computation(np.int32)
    def check(x):
      with tf.control_dependencies([tf.debugging.assert_positive(x)]):
        return tf.identity(x)

    context = native.NativeContext(self._worker)
    with self.assertRaisesRegex(Exception, 'Condition x > 0 did not hold'):
      context.invoke(check, -1)
    self.assertEqual(context.invoke(check, 1), 1)

  def test_call_after_the_end_of_the_worker_is_an_error(self):
    context = native.NativeContext(self._worker)
    context.invoke(_sum, [1])
    self._worker.close()
    with self.assertRaisesRegex(errors.WorkerError, 'status -15'):
      context.invoke(_sum, [1])

  def test_death_of_the_worker_is_an_error(self):
    context = native.NativeContext(self._worker)
    context.invoke(_sum, [1])
    os.kill(self._worker.pid, signal.SIGKILL)
    self.assertTrue(_wait_until_gone(self._worker.pid))
    with self.assertRaisesRegex(
      errors.WorkerError, f'(?s)status -9.*{self._worker.log_file}'
    ):
      context.invoke(_sum, [1])
    # The log that the message names stays.
    self._worker.close()
    self.assertTrue(self._worker.log_file.exists())


if __name__ == '__main__':
  tf.test.main()
