# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that all forms of a client's update compute the same."""

import collections

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

from tests import simulation_test_case
from tests.core import small_updates
from tff_semifl.algorithms import averaging
from tff_semifl.augment import keras_cv_policy
from tff_semifl.experiment import system_registry

# One for each client that trains on what it selects, or on labels. FedMatch's
# is another's, with a model of its own.
_SYSTEMS = tuple(
  {
    system.client: name
    for name, system in system_registry.SYSTEMS.items()
    if isinstance(system, averaging.Averaging) and not system.models
  }.values()
)
# To compile an update takes longest. These train in all ways that there are.
_COMPILED_SYSTEMS = (
  'semifl',
  'batch_label_semifl',
  'supervised_fedavg',
  'composed_semifl',
)


def tearDownModule():
  small_updates.forget()


class LoopFormTest(simulation_test_case.SimulationTestCase):
  def _compare(self, system_name, form, *sizes):
    sizes = sizes or (small_updates.NUM_IMAGES,)
    small_updates.assert_equal(
      small_updates.take(system_name, form, *sizes),
      small_updates.take(system_name, small_updates.DYNAMIC, *sizes),
    )

  @parameterized.parameters(*_COMPILED_SYSTEMS)
  @pytest.mark.slow
  def test_compiled(self, system_name):
    # Both numbers are padded to 32 images.
    self._compare(
      system_name, small_updates.COMPILED, small_updates.NUM_IMAGES, 17
    )

  def test_without_xla(self):
    self._compare('semifl', small_updates.PADDED)

  @parameterized.parameters(
    name for name in _SYSTEMS if name not in _COMPILED_SYSTEMS
  )
  @pytest.mark.slow
  def test_others_without_xla(self, system_name):
    self._compare(system_name, small_updates.PADDED)

  def test_last_batch_has_padding_and_images_are_left_out(self):
    """Confirms that the other tests have padding and unselected images."""
    output = small_updates.take(
      'semifl', small_updates.DYNAMIC, small_updates.NUM_IMAGES
    )
    num_selected = np.count_nonzero(output.result[0].given_labels.share)
    self.assertBetween(
      num_selected, small_updates.BATCH_SIZE + 1, small_updates.NUM_IMAGES - 1
    )
    self.assertNotEqual(num_selected % small_updates.BATCH_SIZE, 0)

  @parameterized.parameters('semifl', 'batch_label_semifl')
  @pytest.mark.slow
  def test_no_image(self, system_name):
    self._compare(system_name, small_updates.COMPILED, 0)


@pytest.mark.slow
class ProgramTest(absltest.TestCase):
  def test_steps_are_one_program(self):
    outside, programs = _find_operations(small_updates.COMPILED)
    self.assertLen(programs, 1)
    # The program contains the loops over epochs, steps and batches.
    self.assertGreaterEqual(programs[0]['StatelessWhile'], 3)
    self.assertGreater(programs[0]['Conv2DBackpropFilter'], 0)
    # Outside, the received model labels the images.
    self.assertNotIn('Conv2DBackpropFilter', outside)

  def test_dynamic_steps_are_none(self):
    outside, programs = _find_operations(small_updates.DYNAMIC)
    self.assertEmpty(programs)
    self.assertNotEmpty([op for op in outside if 'While' in op])

  def test_operations_that_cannot_be_compiled_are_refused(self):
    with self.assertRaisesRegex(
      ValueError, 'XLA cannot compile Equalization, .*--strong_augmentation'
    ):
      small_updates.build(
        'semifl',
        small_updates.COMPILED,
        strong_augmentation=keras_cv_policy.build_gentle_rand_augment(),
      )


def _find_operations(form):
  """Counts the operations of an update of SemiFL, by device."""
  process = small_updates.build('semifl', form)
  graph_defs = []

  def find(block):
    if isinstance(block, tff.framework.CompiledComputation):
      graph_defs.append(
        tf.compat.v1.GraphDef.FromString(block.proto.tensorflow.graph_def.value)
      )
    return block, False

  tff.framework.transform_postorder(
    process.computation.to_building_block(), find
  )
  outside, programs = collections.Counter(), []

  def count(nodes, functions, counter):
    for node in nodes:
      counter[node.op] += 1
      inner = counter
      if counter is outside and node.attr['_XlaMustCompile'].b:
        inner = collections.Counter()
        programs.append(inner)
      for attribute in node.attr.values():
        if attribute.HasField('func'):
          count(functions[attribute.func.name], functions, inner)

  for graph_def in graph_defs:
    functions = {
      each.signature.name: each.node_def for each in graph_def.library.function
    }
    count(graph_def.node, functions, outside)
  return outside, programs


if __name__ == '__main__':
  absltest.main()
