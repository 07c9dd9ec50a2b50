# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the choice of the runtime."""

import asyncio
import os
import subprocess
import sys
import textwrap

import numpy as np
import psutil
import pytest
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import runtime
from tff_semifl.experiment import runtimes


@tff.federated_computation(tff.FederatedType(np.int32, tff.CLIENTS))
def _sum(values):
  return tff.federated_sum(values)


class SimulationContextTest(tf.test.TestCase):
  def test_is_the_default_in_the_block_and_not_after(self):
    before = tff.framework.get_context_stack().current
    with runtime.simulation_context() as context:
      self.assertIs(tff.framework.get_context_stack().current, context)
      self.assertEqual(_sum([1, 2]), 3)
    self.assertIs(tff.framework.get_context_stack().current, before)

  def test_arguments_reach_the_context(self):
    @tff.federated_computation
    def count():
      return tff.federated_sum(tff.federated_value(1, tff.CLIENTS))

    with runtime.simulation_context(
      default_num_clients=3, max_concurrent_clients=2
    ):
      self.assertEqual(count(), 3)

  def test_native_context_ends_its_worker(self):
    before = tff.framework.get_context_stack().current
    children = psutil.Process().children()
    with runtimes.native_context():
      self.assertEqual(_sum([1, 2]), 3)
      [worker] = set(psutil.Process().children()) - set(children)
    self.assertIs(tff.framework.get_context_stack().current, before)
    self.assertFalse(worker.is_running())

  @pytest.mark.slow
  def test_importing_and_leaving_is_quiet(self):
    # A background job of a shell script ignores SIGINT.
    code = """
        import signal
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        from tff_semifl import runtime
    """
    done = subprocess.run(
      [sys.executable, '-c', textwrap.dedent(code)],
      capture_output=True,
      text=True,
      timeout=60,
      env={**os.environ, 'TF_CPP_MIN_LOG_LEVEL': '3'},
    )
    self.assertNotIn('Traceback', done.stderr)
    self.assertEqual(done.returncode, 0)


class AsyncContextTest(tf.test.TestCase):
  def test_calls_may_overlap(self):
    async def run(context):
      return await asyncio.gather(
        *(context.invoke(_sum, [n, n]) for n in range(4))
      )

    with runtime.simulation_context() as context:
      found = asyncio.run(run(runtime.AsyncContext(context)))
    self.assertEqual(found, [0, 2, 4, 6])


if __name__ == '__main__':
  tf.test.main()
