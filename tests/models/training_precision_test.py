# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of training passes in bfloat16, and compiled by XLA."""

import functools

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf

from tff_semifl.models import functional
from tff_semifl.models import keras_conversion
from tff_semifl.models import wide_resnet

_IMAGES = np.random.default_rng(0).uniform(0, 255, (6, 8, 8, 3))
_IMAGES = _IMAGES.astype(np.float32)


def _create_model():
  return wide_resnet.create_wide_resnet(
    _IMAGES.shape[1:],
    5,
    depth=7,
    width=1,
    num_groups=2,
    pixel_mean=(0.4, 0.5, 0.6),
    pixel_standard_deviation=(0.2, 0.3, 0.4),
  )


@functools.cache
def _create_classifier(
  replace_batch_norm=keras_conversion.to_static_batch_norm, **precision
):
  model = keras_conversion.convert(
    _create_model(), replace_batch_norm, replaces_static=True
  )
  return functional.from_keras(model, **precision)


def _take_pass(classifier, num_real=None):
  """Returns logits, and gradients of the mean of their squares."""
  weights = tf.nest.map_structure(tf.constant, classifier.initial_weights)
  with tf.GradientTape() as tape:
    tape.watch(weights.trainable)
    logits = classifier.train_logits(weights, _IMAGES, num_real=num_real)
    loss = tf.reduce_mean(tf.square(logits))
  return logits, tape.gradient(loss, weights.trainable)


def _run(classifier, num_real=None):
  return tf.function(lambda: _take_pass(classifier, num_real))()


def _operations(classifier):
  """Returns names, types and attributes of a training pass's operations."""
  weights = tf.nest.map_structure(tf.constant, classifier.initial_weights)
  function = tf.function(classifier.train_logits).get_concrete_function(
    weights, tf.constant(_IMAGES)
  )
  graph_def = function.graph.as_graph_def()
  nodes = [*graph_def.node]
  for inner in graph_def.library.function:
    nodes.extend(inner.node_def)
  return [(node.op, node.attr['T'].type, node.attr) for node in nodes]


class BFloat16Test(tf.test.TestCase):
  @pytest.mark.slow
  def test_logits_are_those_of_float32_to_the_precision_of_bfloat16(self):
    expected, expected_gradients = _run(_create_classifier())
    found, gradients = _run(_create_classifier(train_in_bfloat16=True))
    # Eight bits, and some ten layers that each round.
    scale = np.abs(expected).max()
    self.assertAllClose(found, expected, rtol=0, atol=10 * 2**-8 * scale)
    self.assertNotAllClose(found, expected, rtol=0, atol=1e-5 * scale)
    for gradient, other in zip(gradients, expected_gradients, strict=True):
      self.assertEqual(gradient.dtype, tf.float32)
      # The directions of the gradients; rounding may change a rectifier's sign.
      gradient, other = np.ravel(gradient), np.ravel(other)
      cosine = gradient @ other / np.sqrt(gradient @ gradient * other @ other)
      self.assertGreater(cosine, 0.9)

  def test_weights_and_inference_are_float32(self):
    plain = _create_classifier()
    classifier = _create_classifier(train_in_bfloat16=True)
    self.assertEqual(classifier.weights_type, plain.weights_type)
    weights = classifier.initial_weights
    self.assertAllEqual(
      classifier.logits(weights, _IMAGES), plain.logits(weights, _IMAGES)
    )
    self.assertAllEqual(
      classifier.batch_moments(weights, _IMAGES)[0],
      plain.batch_moments(weights, _IMAGES)[0],
    )


@pytest.mark.slow
class JitCompileTest(tf.test.TestCase):
  def test_compiles_and_computes_the_same(self):
    plain = _create_classifier()
    compiled = _create_classifier(jit_compile=True)

    def has_compiled(classifier):
      return any(
        attributes['_XlaMustCompile'].b
        for _, _, attributes in _operations(classifier)
      )

    self.assertTrue(has_compiled(compiled))
    self.assertFalse(has_compiled(plain))
    self._check_equal(_run(compiled), _run(plain))

  def test_padding_within_a_larger_program(self):
    compiled = _create_classifier(jit_compile=True)

    @tf.function(jit_compile=True)
    def run():
      # In a loop XLA does not know as much of shapes as elsewhere.
      start = 0, (tf.zeros([6, 5]), compiled.initial_weights.trainable)
      _, passes = tf.while_loop(
        lambda i, _: i < 1,
        lambda i, _: (i + 1, _take_pass(compiled, num_real=4)),
        start,
      )
      return passes

    self._check_equal(run(), _run(_create_classifier(), num_real=4))

  def _check_equal(self, passes, expected_passes):
    (found, gradients), (expected, expected_gradients) = passes, expected_passes
    self.assertAllClose(found, expected, rtol=1e-4, atol=1e-5)
    for gradient, other in zip(gradients, expected_gradients, strict=True):
      self.assertAllClose(
        gradient, other, rtol=1e-3, atol=1e-4 * np.abs(other).max()
      )


if __name__ == '__main__':
  absltest.main()
