# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Base of tests that run TFF computations in this process."""

from collections.abc import Iterator
import contextlib

from absl.testing import parameterized
import tensorflow as tf

from tff_semifl import runtime


class SimulationTestCase(parameterized.TestCase):
  """Tests that all run in one simulation context, their graphs as written.

  What they compute takes milliseconds, and grappler, which optimizes graphs
  before their first run, half a second for each process. Programs have it, and
  so has `tests/launch/all_systems_test.py`.
  """

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enterClassContext(_without_grappler())
    cls.enterClassContext(runtime.simulation_context())


@contextlib.contextmanager
def _without_grappler() -> Iterator[None]:
  option = 'disable_meta_optimizer'
  tf.config.optimizer.set_experimental_options({option: True})
  try:
    yield
  finally:
    tf.config.optimizer.set_experimental_options({option: False})
