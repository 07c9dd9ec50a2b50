# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of operations that are converted for several clients at once."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.runtime import stacked_functions

_NUM_CLIENTS = 3
_SHAPE = (4, 5, 2)
_OF_CLIENTS = np.random.default_rng(0).normal(size=(_NUM_CLIENTS, *_SHAPE))
_OF_ALL = np.random.default_rng(1).normal(size=_SHAPE)
# (of a client, of all clients, the number one that is not known before) -> any
_OPERATIONS = {
  'stack_first': lambda x, same, one: tf.stack([x, same]),
  'stack_second': lambda x, same, one: tf.stack([same, x, x], axis=1),
  'stack_last': lambda x, same, one: tf.stack([same, x], axis=-1),
  'concat_first': lambda x, same, one: tf.concat([x, same], axis=0),
  'concat_last': lambda x, same, one: tf.concat([same, x], axis=-1),
  'concat_somewhere': lambda x, same, one: tf.concat([same, x], axis=one),
  'split_first': lambda x, same, one: tf.split(x, 2),
  'split_last': lambda x, same, one: tf.split(x, 2, axis=-1),
  'split_somewhere': lambda x, same, one: tf.split(x[:, :4], 4, axis=one),
  'slice_of_some': lambda x, same, one: x[1:3, ::2],
  'slice_of_last': lambda x, same, one: x[..., -1],
  'slice_backwards': lambda x, same, one: x[::-1, 2],
  'slice_with_new_axis': lambda x, same, one: x[:, tf.newaxis, 1:],
  'slice_from_somewhere': lambda x, same, one: x[one:, one],
  'add': lambda x, same, one: x + same,
  'add_to_more_axes': lambda x, same, one: same + x[0],
  'add_to_fewer_axes': lambda x, same, one: x * same[0, 0],
  'choose': lambda x, same, one: tf.where(x[0, 0] > 0, x, same[0]),
  'norm': lambda x, same, one: tf.nn.l2_loss(x),
}


def _convert(operation, shape):
  """Returns the results for all clients, and the types of the operations."""
  with tf.Graph().as_default() as graph:
    inputs = [
      tf.compat.v1.placeholder(tf.float64, shape),
      tf.compat.v1.placeholder(tf.float64, shape),
      tf.compat.v1.placeholder(tf.int32, []),
    ]
    outputs = tf.nest.flatten(operation(*inputs))
  stacked = stacked_functions.StackedGraph(graph.as_graph_def())
  get_tensor = stacked.of_client.graph.get_tensor_by_name
  with tf.Graph().as_default() as graph:
    values = [
      tf.compat.v1.placeholder_with_default(
        _OF_CLIENTS, [_NUM_CLIENTS, *shape]
      ),
      tf.compat.v1.placeholder_with_default(_OF_ALL, shape),
      tf.compat.v1.placeholder_with_default(1, []),
    ]
    found, are_stacked = stacked.build(
      [get_tensor(each.name) for each in inputs],
      [get_tensor(each.name) for each in outputs],
      values,
      [True, False, False],
      _NUM_CLIENTS,
    )
    with tf.compat.v1.Session() as session:
      types = {op.type for op in graph.get_operations()}
      return session.run(found), are_stacked, types


class StackedOperationsTest(parameterized.TestCase):
  @parameterized.product(
    name=list(_OPERATIONS), shape=[_SHAPE, (None, *_SHAPE[1:])]
  )
  def test_each_client_has_what_it_would_have_alone(self, name, shape):
    operation = _OPERATIONS[name]
    found, are_stacked, types = _convert(operation, shape)
    self.assertTrue(all(are_stacked))
    for client, of_client in enumerate(_OF_CLIENTS):
      expected = tf.nest.flatten(operation(of_client, _OF_ALL, 1))
      for results, result in zip(found, expected, strict=True):
        np.testing.assert_allclose(results[client], result)
    # What is known is not found out when operations run.
    if shape == _SHAPE:
      self.assertNotIn('Shape', types)


if __name__ == '__main__':
  absltest.main()
