# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Base of tests that run TFF computations in this process."""

from absl.testing import parameterized

from tff_semifl import runtime


class SimulationTestCase(parameterized.TestCase):
  """Tests that all run in one simulation context."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enterClassContext(runtime.simulation_context())
