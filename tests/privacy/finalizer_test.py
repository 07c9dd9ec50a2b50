# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that the finalizer computes what TFF's does."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff

from tff_semifl import runtime
from tff_semifl.privacy import aggregators

_WEIGHTS_TYPE = tff.types.to_type(
  tff.learning.models.ModelWeights(
    (tff.TensorType(np.float32, [2, 3]), tff.TensorType(np.float32, [3])),
    (tff.TensorType(np.float32, [3]),),
  )
)


class FinalizerTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('momentum', tff.learning.optimizers.build_sgdm(1.0, momentum=0.5)),
    ('adam', tff.learning.optimizers.build_adam(0.1)),
  )
  def test_is_that_of_tff(self, optimizer):
    ours = aggregators.build_finalizer(optimizer, _WEIGHTS_TYPE)
    theirs = tff.learning.templates.build_apply_optimizer_finalizer(
      optimizer, _WEIGHTS_TYPE
    )
    self.assertEqual(ours.next.type_signature, theirs.next.type_signature)
    self.assertEqual(
      ours.initialize.type_signature, theirs.initialize.type_signature
    )
    generator = np.random.default_rng(0)

    def draw():
      return (
        generator.normal(size=(2, 3)).astype(np.float32),
        generator.normal(size=3).astype(np.float32),
      )

    updates = [draw() for _ in range(4)]
    updates[1][1][2] = np.nan
    updates[2][0][0, 0] = -np.inf
    with runtime.simulation_context():
      states = [ours.initialize(), theirs.initialize()]
      np.testing.assert_equal(*states)
      weights = [
        tff.learning.models.ModelWeights(draw(), (np.ones(3, np.float32),))
      ] * 2
      for number, update in enumerate(updates):
        outputs = [
          process.next(state, old, update)
          for process, state, old in zip(
            (ours, theirs), states, weights, strict=True
          )
        ]
        with self.subTest(number=number):
          self.assertEqual(
            outputs[0].measurements['update_non_finite'], number in (1, 2)
          )
          for part in ('state', 'result', 'measurements'):
            np.testing.assert_equal(*(getattr(o, part) for o in outputs))
        states = [output.state for output in outputs]
        weights = [output.result for output in outputs]


if __name__ == '__main__':
  absltest.main()
