# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for normalization by weighted statistics, against NumPy."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.models import static_batch_norm

_EPSILON = 1e-3


def _draw(*shape):
  """Returns inputs, weights of rows, gamma, beta and a gradient of outputs."""
  generator = np.random.default_rng(0)
  inputs = generator.normal(2, 3, size=shape)
  weight = generator.uniform(size=(shape[0], *[1] * (len(shape) - 1)))
  # Rows of weight zero are normalized, too.
  weight[-1] = 0
  weight /= weight.sum() * np.prod(shape[1:-1])
  gamma, beta = generator.normal(size=(2, shape[-1]))
  upstream = generator.normal(size=shape)
  return [
    tf.constant(each, tf.float32)
    for each in (inputs, weight, gamma, beta, upstream)
  ]


def _differentiate(inputs, weight, gamma, beta, upstream):
  sources = [inputs, gamma, beta]
  with tf.GradientTape() as tape:
    tape.watch(sources)
    outputs = static_batch_norm.normalize(inputs, weight, gamma, beta, _EPSILON)
  return tape.gradient(outputs, sources, upstream)


class NormalizeTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters((5, 3, 2, 4), (6, 3))
  def test_equals_numpy(self, *shape):
    *arguments, _ = _draw(*shape)
    inputs, weight, gamma, beta = map(np.asarray, arguments)
    axes = tuple(range(len(shape) - 1))
    mean = (weight * inputs).sum(axes)
    variance = (weight * (inputs - mean) ** 2).sum(axes)
    expected = (inputs - mean) / np.sqrt(variance + _EPSILON) * gamma + beta
    for normalize in (
      static_batch_norm.normalize,
      tf.function(static_batch_norm.normalize),
    ):
      found = normalize(*arguments, _EPSILON)
      self.assertAllClose(found, expected, rtol=1e-5, atol=1e-5)

  @parameterized.parameters((5, 3, 2, 4), (6, 3))
  def test_gradient_equals_that_of_its_operations(self, *shape):
    arguments = _draw(*shape)
    # By TensorFlow's rules, where there is no graph.
    expected = _differentiate(*arguments)

    @tf.function
    def normalize(inputs, weight, gamma, beta):
      return static_batch_norm.normalize(inputs, weight, gamma, beta, _EPSILON)

    *values, upstream = arguments
    traced = normalize.get_concrete_function(*values)
    with tf.GradientTape() as tape:
      tape.watch(values)
      outputs = traced(*values)
    found = tape.gradient(outputs, [values[0], *values[2:]], upstream)
    within = tf.function(_differentiate)(*arguments)
    for each in (found, within):
      self.assertAllClose(each, expected, rtol=1e-4, atol=1e-5)

  def test_gradient_of_a_copy_of_the_graph(self):
    arguments = _draw(5, 3, 2, 4)
    expected = _differentiate(*arguments)
    *values, upstream = arguments
    with tf.Graph().as_default() as graph:
      inputs = [tf.compat.v1.placeholder(v.dtype, v.shape) for v in values]
      outputs = static_batch_norm.normalize(*inputs, _EPSILON)
    names = [each.op.name for each in inputs]

    @tf.function
    def differentiate(values, upstream):
      values = [tf.identity(each) for each in values]
      copied = tf.graph_util.import_graph_def(
        graph.as_graph_def(),
        dict(zip(names, values, strict=True)),
        [outputs.name],
      )
      return tf.gradients(copied, [values[0], *values[2:]], upstream)

    found = differentiate(values, upstream)
    self.assertAllClose(found, expected, rtol=1e-4, atol=1e-5)
    # By the formula: it has no gradient of a root.
    types = {
      operation.type
      for operation in differentiate.get_concrete_function(
        values, upstream
      ).graph.get_operations()
    }
    self.assertIn('Rsqrt', types)
    self.assertNotIn('RsqrtGrad', types)


if __name__ == '__main__':
  absltest.main()
