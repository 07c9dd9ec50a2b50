# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Base of tests that run TFF computations in this process."""

from collections.abc import Iterator
import contextlib

from absl.testing import parameterized
import tensorflow as tf

from tff_semifl import runtime


class SimulationTestCase(parameterized.TestCase):
  """Tests that all run in one simulation context, their graphs as written."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enterClassContext(without_grappler())
    cls.enterClassContext(runtime.simulation_context())


@contextlib.contextmanager
def without_grappler() -> Iterator[None]:
  """A context in which graphs are not optimized.

  What tests compute takes milliseconds, and grappler, which rewrites graphs
  before their first run, half a second for each process. Programs have it, and
  last digits differ: their numbers are not compared with those from here.
  """
  option = 'disable_meta_optimizer'
  tf.config.optimizer.set_experimental_options({option: True})
  try:
    yield
  finally:
    tf.config.optimizer.set_experimental_options({option: False})
