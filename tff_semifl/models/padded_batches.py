# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Training on padded batches, in loops that XLA compiles.

Batch normalization excludes padding from statistics. A model's graph is copied
into the loop.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def weigh_rows(inputs: tf.Tensor, num_real: tf.Tensor) -> tf.Tensor:
  """The weight of each row's values in means over the first `num_real` rows."""
  shape = tf.shape(inputs)
  is_real = tf.reshape(
    tf.range(shape[0]) < num_real, [-1] + [1] * (inputs.shape.rank - 1)
  )
  # At least 1: without real rows, statistics are 0 instead of NaN.
  count = tf.cast(
    tf.maximum(num_real, 1) * tf.reduce_prod(shape[1:-1]), tf.float32
  )
  # Padding repeats a real image, so that 0 times its values is 0, not NaN.
  return tf.where(is_real, 1.0 / count, 0.0)


_GRADIENT = 'TffSemiflWeightedNormalization'


def normalize(
  inputs: tf.Tensor,
  weight: tf.Tensor,
  gamma: tf.Tensor,
  beta: tf.Tensor,
  epsilon: float,
) -> tf.Tensor:
  """Normalizes channels by weighted mean and variance, with a fast gradient.

  With TensorFlow's own gradient, a step of a WideResNet-16-1 has 12% more GPU
  kernels. Inputs are float32 [batch, ..., channels]; weights, float32 [batch,
  1, ..., 1], sum to 1 over the values of a channel.
  """
  axes = list(range(inputs.shape.rank - 1))
  deviations = inputs - tf.reduce_sum(weight * inputs, axes)
  variance = tf.reduce_sum(weight * deviations**2, axes)
  inverse = tf.math.rsqrt(variance + epsilon)
  outputs = deviations * (gamma * inverse) + beta
  if tf.executing_eagerly():
    return outputs
  graph = tf.compat.v1.get_default_graph()
  with graph.gradient_override_map({'IdentityN': _GRADIENT}):
    outputs, *_ = tf.identity_n(
      [outputs, inputs, gamma, beta, deviations, weight, inverse]
    )
  return outputs


@tf.RegisterGradient(_GRADIENT)
def _differentiate(
  operation: tf.Operation, upstream: tf.Tensor, *_: tf.Tensor | None
) -> list[tf.Tensor | None]:
  """The analytic gradient of `normalize`.

  The gradient uses only inputs of the operation. `tf.custom_gradient` would
  capture tensors of the graph, which a copy of the graph cannot use.
  """
  _, _, gamma, _, deviations, weight, inverse = tuple(operation.inputs)
  axes = list(range(deviations.shape.rank - 1))
  of_beta = tf.reduce_sum(upstream, axes)
  of_gamma = inverse * tf.reduce_sum(upstream * deviations, axes)
  of_statistics = weight * (deviations * (inverse * of_gamma) + of_beta)
  of_inputs = (gamma * inverse) * (upstream - of_statistics)
  return [None, of_inputs, of_gamma, of_beta, None, None, None]


def build_insertion(traced: Any) -> Callable[..., list[tf.Tensor]]:
  """Builds a function that copies a traced function into the current graph.

  The result takes the values of all arguments and captured tensors. A call of
  the traced function would return constants that gradients use, such as
  paddings, as outputs. XLA would then recompile for each value of the call's
  arguments.
  """
  graph_def = traced.graph.as_graph_def()
  inputs = {each.op.name: each for each in traced.inputs}
  nodes = [node for node in graph_def.node if node.name not in inputs]
  taken = {name.removesuffix(':0') for node in nodes for name in node.input}
  graph_def = tf.compat.v1.GraphDef(
    node=nodes, library=graph_def.library, versions=graph_def.versions
  )

  @tf.custom_gradient
  def insert(*values):
    # The values may be tensors of an outer graph.
    values = [tf.identity(value) for value in values]
    outputs = tf.graph_util.import_graph_def(
      graph_def,
      {
        name: value
        for name, value in zip(inputs, values, strict=True)
        if name in taken
      },
      [each.name for each in traced.outputs],
      name='model',
    )

    # A tape does not record imported operations.
    def differentiate(*upstream: tf.Tensor) -> list[tf.Tensor | None]:
      return tf.gradients(outputs, values, upstream)

    return outputs, differentiate

  return insert
