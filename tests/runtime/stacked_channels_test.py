# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that images are not transposed between convolutions of all clients."""

import collections

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.runtime import stacked_functions

_NUM_CLIENTS = 3
_GENERATOR = np.random.default_rng(0)
_IMAGES = _GENERATOR.normal(size=(_NUM_CLIENTS, 2, 6, 6, 4)).astype('f')
_KERNELS = _GENERATOR.normal(size=(_NUM_CLIENTS, 3, 3, 4, 4)).astype('f')


def _normalize(images):
  return tf.raw_ops.FusedBatchNormV3(
    x=images,
    scale=tf.ones([4]),
    offset=tf.zeros([4]),
    mean=[],
    variance=[],
    is_training=True,
  ).y


def _in_branch(images, convolve):
  is_small = tf.compat.v1.placeholder_with_default(True, [])
  return tf.cond(is_small, lambda: convolve(images) + images, lambda: images)


# (images, a convolution) -> images, of which each convolution is one more.
_BETWEEN = {
  'nothing': lambda x, convolve: convolve(convolve(x)),
  'normalization': lambda x, convolve: convolve(_normalize(convolve(x))),
  'activation': lambda x, convolve: convolve(tf.nn.relu(convolve(x))),
  'number': lambda x, convolve: convolve(0.5 * convolve(x)),
  'sigmoid': lambda x, convolve: convolve(tf.sigmoid(convolve(x))),
  'leaky': lambda x, convolve: convolve(tf.nn.leaky_relu(convolve(x))),
  'precision': lambda x, convolve: convolve(
    tf.cast(tf.cast(convolve(x), tf.float64), tf.float32)
  ),
  'sum': lambda x, convolve: convolve(convolve(x) + convolve(convolve(x))),
  'sum_of_several': lambda x, convolve: convolve(
    tf.add_n([convolve(x), convolve(tf.nn.relu(convolve(x))), convolve(x)])
  ),
}


def _differentiate(compute, images, kernel):
  """Returns what is computed, and its gradients."""
  outputs = compute(
    images, lambda inputs: tf.nn.conv2d(inputs, kernel, 1, 'SAME')
  )
  return [outputs, *tf.gradients(tf.nn.l2_loss(outputs), [images, kernel])]


def _count(fetches):
  """Counts the operations that have a part in some tensors, by type."""
  found, pending = {}, [each.op for each in fetches]
  while pending:
    op = pending.pop()
    if op.name not in found:
      found[op.name] = op.type
      pending.extend(each.op for each in op.inputs)
  return collections.Counter(found.values())


class StackedChannelsTest(parameterized.TestCase):
  def _compare(self, compute):
    """Compares all clients with each, and counts what is executed for all."""
    with tf.Graph().as_default() as graph:
      inputs = [
        tf.compat.v1.placeholder(tf.float32, array.shape[1:])
        for array in (_IMAGES, _KERNELS)
      ]
      outputs = _differentiate(compute, *inputs)
      with tf.compat.v1.Session() as session:
        expected = [
          session.run(outputs, dict(zip(inputs, of_client, strict=True)))
          for of_client in zip(_IMAGES, _KERNELS, strict=True)
        ]
    stacked = stacked_functions.StackedGraph(graph.as_graph_def())
    get_tensor = stacked.of_client.graph.get_tensor_by_name
    with tf.Graph().as_default():
      found, _ = stacked.build(
        [get_tensor(each.name) for each in inputs],
        [get_tensor(each.name) for each in outputs],
        [
          tf.compat.v1.placeholder_with_default(array, array.shape)
          for array in (_IMAGES, _KERNELS)
        ],
        [True, True],
        _NUM_CLIENTS,
      )
      counts = _count(found)
      with tf.compat.v1.Session() as session:
        results = session.run(found)
    for of_all, *of_each in zip(results, *expected, strict=True):
      np.testing.assert_allclose(of_all, of_each, rtol=1e-3, atol=1e-3)
    return counts

  @parameterized.parameters(*_BETWEEN)
  def test_transposes_nothing_between_convolutions(self, name):
    counts = self._compare(_BETWEEN[name])
    self.assertGreater(counts['Conv2D'], 1)
    # Images and the kernel, as they come, and the three results.
    self.assertLessEqual(counts['Transpose'], 2 + 3)

  def test_branch_is_a_graph_with_names_of_the_one_around_it(self):
    counts = self._compare(
      lambda x, convolve: _in_branch(convolve(x), convolve)
    )
    self.assertGreater(counts['If'] + counts['StatelessIf'], 0)


if __name__ == '__main__':
  absltest.main()
