# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that XLA can compile how clients label images and select of them.

It is compiled without the model and the steps, which take far longer and are
the same for all these systems: see `turn_form_test`.
"""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import simulation_test_case
from tests import small_systems
from tff_semifl.systems import client_trainings
from tff_semifl.systems import composed
from tff_semifl.systems import registry
from tff_semifl.work import round_context

_NUM_IMAGES = 20
_THRESHOLD = 0.46
# Clients that have labels count these in training.
_SYSTEMS = [
  name
  for name, system in registry.SYSTEMS.items()
  if isinstance(getattr(system, 'client', None), client_trainings.Fix)
  and not system.clients_have_labels
]
_CHOICES = {
  'selection': composed.SELECTIONS,
  'alignment': composed.ALIGNMENTS,
  'adjustment': composed.ADJUSTMENTS,
  'weighting': composed.WEIGHTINGS,
}


class CompiledLabelsTest(
  simulation_test_case.SimulationTestCase, tf.test.TestCase
):
  def _check(self, system_name, changes):
    system = small_systems.create(
      system_name, changes, usual={'confidence_threshold': _THRESHOLD}
    )
    client = system.client
    classifier = linear_reference.create_classifier()
    told = ()
    guidance = client.build_guidance(classifier)
    if guidance is not None:
      told = guidance.tell(
        guidance.initialize(),
        round_context.RoundContext(7, 3, np.float32(0.2)),
        classifier.initial_weights,
        linear_reference.labeled_dataset(
          linear_reference.create_images(_NUM_IMAGES),
          np.arange(_NUM_IMAGES) % linear_reference.NUM_CLASSES,
        ),
      )

    def label(logits):
      labels = client.label(told, logits)
      selected = client.select(told, labels)
      offset = client.logit_offset(told, labels)
      return (
        labels,
        selected,
        () if offset is None else offset,
        client.weighting.weigh(
          labels, tf.math.count_nonzero(selected, dtype=tf.int32)
        ),
        client.report(told, labels),
      )

    logits = tf.random.stateless_normal(
      [_NUM_IMAGES, linear_reference.NUM_CLASSES], [3, 4]
    )
    self.assertAllClose(
      tf.function(label, jit_compile=True)(logits), label(logits), rtol=1e-5
    )

  @parameterized.parameters(*_SYSTEMS)
  def test_systems(self, system_name):
    self._check(system_name, {})

  @parameterized.parameters(
    *((part, name) for part, names in _CHOICES.items() for name in names)
  )
  def test_parts(self, part, name):
    self._check('composed_semifl', {part: name})


if __name__ == '__main__':
  absltest.main()
