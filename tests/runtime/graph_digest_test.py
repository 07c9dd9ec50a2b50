# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that digests of programs do not depend on the build."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import runtime
from tff_semifl.runtime import compiler
from tff_semifl.runtime import graph_digest


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
    spec = tf.TensorSpec([], tf.float32)
    unused.get_concrete_function(spec).add_to_graph()
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


def _block(*args, **kwargs):
  return compiler.compile_to_block(_build(*args, **kwargs))


class GraphDigestTest(absltest.TestCase):
  def test_the_same_code_has_one_digest(self):
    first, second, other = (_block('a'), _block('b_1'), _block('a', added=2.0))
    self.assertNotEqual(
      *(
        each.proto.SerializeToString(deterministic=True)
        for each in (first, second)
      )
    )
    self.assertEqual(graph_digest.digest(first), graph_digest.digest(second))
    self.assertNotEqual(graph_digest.digest(first), graph_digest.digest(other))

  def test_functions_that_are_never_called(self):
    block = _block('a')
    fewer = graph_digest.drop_unused_functions(block)
    self.assertEqual(graph_digest.digest(fewer), graph_digest.digest(block))
    computation = tff.framework.ConcreteComputation.from_building_block(fewer)
    with runtime.simulation_context():
      # One is added to each of three numbers, and once more in the sum.
      total = 9 + 3 * 2
      self.assertEqual(
        list(computation([[1.0, 3.0], [5.0], []])), [total, total / 2]
      )


if __name__ == '__main__':
  absltest.main()
