# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that programs are the same bytes whenever they are built."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import runtime
from tff_semifl.runtime import compiler
from tff_semifl.runtime import graphs


def _build(name, added=1.0):
  """Builds a computation with functions in functions, loops and names."""

  @tf.function
  def add(x):
    with tf.name_scope(name):
      return tf.add(x, added, name=name)

  @tf.function
  def change_nothing(x):
    for _ in tf.range(tf.cast(x, tf.int32)):
      x = add(x) - added
    return x

  @tf.function
  def unused(x):
    return x

  @tff.tensorflow.computation(tff.SequenceType(np.float32))
  def take_steps(dataset):
    unused(1.0)
    with tf.name_scope(name):
      total = dataset.map(add).reduce(0.0, lambda total, x: total + add(x))
    total = change_nothing(total)
    return {'half': total / 2, 'total': total}

  @tff.federated_computation(
    tff.FederatedType(tff.SequenceType(np.float32), tff.CLIENTS)
  )
  def work(datasets):
    found = tff.federated_map(take_steps, datasets)
    return tff.federated_sum(found['total']), tff.federated_sum(found['half'])

  return work


def _bytes(computation, standardize):
  block = compiler.compile_to_block(computation)
  return standardize(block).proto.SerializeToString(deterministic=True)


class StandardizeTest(absltest.TestCase):
  def test_the_same_code_is_the_same_bytes(self):
    computations = [_build('a'), _build('b_1'), _build('a', added=2.0)]
    for standardize, number in ((lambda x: x, 3), (graphs.standardize, 2)):
      found = {_bytes(each, standardize) for each in computations}
      self.assertLen(found, number)
    self.assertEqual(
      *(_bytes(each, graphs.standardize) for each in computations[:2])
    )

  def test_it_computes_the_same(self):
    block = compiler.compile_to_block(_build('a', added=2.0))
    computation = tff.framework.ConcreteComputation.from_building_block(
      graphs.standardize(block)
    )
    with runtime.simulation_context():
      # Two is added to each number, and again when it is added up.
      total = 9 + 3 * 4
      self.assertEqual(
        list(computation([[1.0, 3.0], [5.0], []])), [total, total / 2]
      )


if __name__ == '__main__':
  absltest.main()
