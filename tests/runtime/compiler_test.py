# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of what the compiler leaves to be run."""

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import compiler
from tff_semifl.runtime import intrinsics

_FLOAT_AT_CLIENTS = tff.FederatedType(np.float32, tff.CLIENTS)


class CompilerTest(tf.test.TestCase):
  def test_leaves_only_intrinsics_that_can_be_run(self):
    @tff.federated_computation(_FLOAT_AT_CLIENTS, _FLOAT_AT_CLIENTS)
    def run(x, w):
      return (
        tff.federated_sum(x),
        tff.federated_mean(x, w),
        tff.federated_min(x),
        tff.federated_max(x),
      )

    found = set()

    def visit(block):
      if isinstance(block, tff.framework.Intrinsic):
        found.add(block.uri)
      return block, False

    compiled = compiler.compile_computation(run)
    tff.framework.transform_postorder(compiled.to_building_block(), visit)

    self.assertIn('federated_aggregate', found)
    for uri in found:
      intrinsics.get_intrinsic(uri)


if __name__ == '__main__':
  tf.test.main()
