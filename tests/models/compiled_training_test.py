# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of training passes that XLA compiles."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from tff_semifl.models import functional
from tff_semifl.models import wide_resnet

_IMAGES = np.random.default_rng(0).uniform(0, 255, (6, 8, 8, 3))
_IMAGES = _IMAGES.astype(np.float32)


@functools.cache
def _create_classifier(*, jit_compile=False):
  model = wide_resnet.create_wide_resnet(
    _IMAGES.shape[1:],
    5,
    depth=7,
    width=1,
    num_groups=2,
    pixel_mean=(0.4, 0.5, 0.6),
    pixel_standard_deviation=(0.2, 0.3, 0.4),
  )
  return functional.from_keras(model, jit_compile=jit_compile)


def _take_pass(classifier, num_real=None):
  """Logits, and gradients of the mean of their squares."""
  weights = tf.nest.map_structure(tf.constant, classifier.initial_weights)
  with tf.GradientTape() as tape:
    tape.watch(weights.trainable)
    logits = classifier.train_logits(weights, _IMAGES, num_real=num_real)
    loss = tf.reduce_mean(tf.square(logits))
  return logits, tape.gradient(loss, weights.trainable)


def _run(classifier, num_real=None):
  return tf.function(lambda: _take_pass(classifier, num_real))()


def _has_compiled(classifier):
  """Whether XLA compiles any function of a training pass."""
  weights = tf.nest.map_structure(tf.constant, classifier.initial_weights)
  function = tf.function(classifier.train_logits).get_concrete_function(
    weights, tf.constant(_IMAGES)
  )
  graph_def = function.graph.as_graph_def()
  nodes = [*graph_def.node]
  for inner in graph_def.library.function:
    nodes.extend(inner.node_def)
  return any(node.attr['_XlaMustCompile'].b for node in nodes)


@pytest.mark.slow
class JitCompileTest(tf.test.TestCase):
  def test_compiles_and_computes_the_same(self):
    plain = _create_classifier()
    compiled = _create_classifier(jit_compile=True)
    self.assertTrue(_has_compiled(compiled))
    self.assertFalse(_has_compiled(plain))
    self._check_equal(_run(compiled), _run(plain))

  def test_padding_within_a_larger_program(self):
    compiled = _create_classifier(jit_compile=True)

    @tf.function(jit_compile=True)
    def run():
      # In a loop, XLA knows less of shapes.
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
