# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that digests depend on operations, not on names."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime.ray import programs as ray_programs


def _digest(name, added=1.0, *, swapped=False):
  """The digest of a program with nested functions, loops and names."""

  @tf.function
  def add(x):
    with tf.name_scope(name):
      return tf.add(x, added, name=name)

  @tf.function
  def repeat(x):
    for _ in tf.range(tf.cast(x, tf.int32)):
      x = add(x) - added
    return x

  @tff.tensorflow.computation(tff.SequenceType(np.float32))
  def take_steps(dataset):
    with tf.name_scope(name):
      total = dataset.map(add).reduce(0.0, lambda total, x: total + add(x))
    first, second = repeat(total), total
    return second - first if swapped else first - second

  @tff.federated_computation(
    tff.FederatedType(tff.SequenceType(np.float32), tff.CLIENTS)
  )
  def work(datasets):
    return tff.federated_sum(tff.federated_map(take_steps, datasets))

  [found] = ray_programs.find_client_programs(work)
  return found


class GraphDigestTest(absltest.TestCase):
  def test_only_what_is_computed_changes_a_digest(self):
    self.assertEqual(_digest('a'), _digest('b_1'))
    others = {_digest('a', added=2.0), _digest('a', swapped=True)}
    self.assertLen({_digest('a'), *others}, 3)


if __name__ == '__main__':
  absltest.main()
