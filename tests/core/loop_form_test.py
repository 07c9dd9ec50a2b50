# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that all forms of a client update compute the same result."""

import collections

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests.core import small_updates
from tff_semifl.algorithms import averaging
from tff_semifl.augment import keras_cv_policy
from tff_semifl.experiment import system_registry

# A system for each kind of client that trains on selected images or on labels,
# and for each of these if some images have labels. FedMatch has another client
# and another model.
_SYSTEMS = tuple(
  {
    (system.client, system.labels.at_some_clients): name
    for name, system in system_registry.SYSTEMS.items()
    if isinstance(system, averaging.Averaging) and not system.models
  }.values()
)
# The compiled systems cover all kinds of training; compiling takes longest.
_COMPILED_SYSTEMS = (
  'semifl',
  'batch_label_semifl',
  'supervised_fedavg',
  'composed_semifl',
)
_TOLERANCE = 1e-3
_SIZES = (small_updates.NUM_IMAGES,)


def tearDownModule():
  # TensorFlow would warn of the functions.
  small_updates.take.cache_clear()
  small_updates.create_classifier.cache_clear()


class LoopFormTest(parameterized.TestCase):
  def _compare(self, system_name, form, *sizes):
    found, expected = (
      small_updates.take(system_name, each, *sizes)[0]
      for each in (form, small_updates.DYNAMIC)
    )
    tf.nest.assert_same_structure(found, expected)
    for a, b in zip(
      tf.nest.flatten(found), tf.nest.flatten(expected), strict=True
    ):
      # The gradient of a step has relative errors of about 1e-5 if sums have
      # another order, and each step inherits the errors of earlier steps. The
      # gradient of a bias before normalization consists of such errors only.
      scale = np.max(np.abs(b), initial=0.0)
      np.testing.assert_allclose(a, b, rtol=0, atol=_TOLERANCE * scale + 1e-5)

  @parameterized.parameters(*_COMPILED_SYSTEMS)
  @pytest.mark.slow
  def test_compiled(self, system_name):
    # Both numbers are padded to 32 images.
    self._compare(system_name, small_updates.COMPILED, *_SIZES, 17)

  def test_without_xla(self):
    self._compare('semifl', small_updates.PADDED, *_SIZES)
    # The last batch has padding, and some images are not selected.
    output, _ = small_updates.take('semifl', small_updates.DYNAMIC, *_SIZES)
    num_selected = np.count_nonzero(output.result[0].given_labels.share)
    self.assertBetween(
      num_selected, small_updates.BATCH_SIZE + 1, small_updates.NUM_IMAGES - 1
    )
    self.assertNotEqual(num_selected % small_updates.BATCH_SIZE, 0)

  @parameterized.parameters(
    name for name in _SYSTEMS if name not in _COMPILED_SYSTEMS
  )
  @pytest.mark.slow
  def test_others_without_xla(self, system_name):
    self._compare(system_name, small_updates.PADDED, *_SIZES)

  @parameterized.parameters('semifl', 'batch_label_semifl')
  @pytest.mark.slow
  def test_no_image(self, system_name):
    self._compare(system_name, small_updates.COMPILED, 0)


class ProgramTest(absltest.TestCase):
  @pytest.mark.slow
  def test_steps_are_one_program(self):
    outside, programs = _find_operations(small_updates.COMPILED)
    self.assertLen(programs, 1)
    # The program contains the loops over epochs, steps and batches.
    self.assertGreaterEqual(programs[0]['StatelessWhile'], 3)
    self.assertGreater(programs[0]['Conv2DBackpropFilter'], 0)
    # The received model labels the images outside of the program.
    self.assertNotIn('Conv2DBackpropFilter', outside)
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
  """Counts the operations of an update of SemiFL, and of its XLA programs."""
  _, update = small_updates.take('semifl', form, *_SIZES, 17)
  graph_def = update.get_concrete_function().graph.as_graph_def()
  functions = {
    each.signature.name: each.node_def for each in graph_def.library.function
  }
  outside, programs = collections.Counter(), []

  def count(nodes, counter):
    for node in nodes:
      counter[node.op] += 1
      inner = counter
      if counter is outside and node.attr['_XlaMustCompile'].b:
        inner = collections.Counter()
        programs.append(inner)
      for attribute in node.attr.values():
        if attribute.HasField('func'):
          count(functions[attribute.func.name], inner)

  count(graph_def.node, outside)
  return outside, programs


if __name__ == '__main__':
  absltest.main()
