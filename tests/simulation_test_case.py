# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Base class of tests that run TFF computations in this process."""

from collections.abc import Iterator
import contextlib

from absl.testing import parameterized
import tensorflow as tf

from tff_semifl import runtime


class SimulationTestCase(parameterized.TestCase):
  """Tests that share one simulation context, without graph optimization."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enterClassContext(without_grappler())
    cls.enterClassContext(runtime.simulation_context())


@contextlib.contextmanager
def without_grappler() -> Iterator[None]:
  """A context in which graphs are not optimized.

  The computations of tests take milliseconds. Grappler, which rewrites graphs
  before their first run, takes half a second for each process. Programs use
  Grappler, and last digits differ: results of programs are not compared with
  results from here.
  """
  option = 'disable_meta_optimizer'
  tf.config.optimizer.set_experimental_options({option: True})
  try:
    yield
  finally:
    tf.config.optimizer.set_experimental_options({option: False})
