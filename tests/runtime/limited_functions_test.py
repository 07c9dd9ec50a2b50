# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that results do not depend on sessions with their own threads.

threads_test checks in the real program that a session has its own threads.
"""

import os
from unittest import mock

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import runtime
from tff_semifl.data import pipelines
from tff_semifl.runtime import limited_functions

_IMAGES = tff.SequenceType(tff.TensorType(np.float32, [None, 6, 6, 2]))
_KERNEL = tff.TensorType(np.float32, [3, 3, 2, 4])


def _read(dataset):
  return dataset.reduce(
    tf.zeros([0, 6, 6, 2]),
    lambda before, images: tf.concat([before, images], 0),
  )


def _train(kernel, images):
  def step(kernel):
    with tf.GradientTape() as tape:
      tape.watch(kernel)
      loss = tf.reduce_mean(tf.nn.conv2d(images, kernel, 1, 'SAME') ** 2)
    return kernel - 0.1 * tape.gradient(loss, kernel)

  return tf.while_loop(
    lambda i, _: i < 3, lambda i, kernel: (i + 1, step(kernel)), [0, kernel]
  )[1]


@tff.tensorflow.computation(_KERNEL, _IMAGES)
def _train_on_all(kernel, dataset):
  images = _read(dataset)
  # The kernel is returned unchanged, and images as they are read.
  return _train(kernel, images), kernel, images, tf.shape(images)[0]


@tff.tensorflow.computation(_KERNEL, _IMAGES)
def _train_on_chunks(kernel, dataset):
  # Images are read as in client updates.
  return _train(kernel, pipelines.concatenate_chunks(dataset))


@tff.tensorflow.computation(_KERNEL, _IMAGES)
def _train_piece_by_piece(kernel, dataset):
  @tf.function
  def run():
    result = kernel
    for images in dataset:
      result = _train(result, images)
    return result

  return run()


@tff.tensorflow.computation(_KERNEL, _IMAGES)
def _train_a_variable(kernel, dataset):
  total = tf.Variable(tf.zeros([]))
  with tf.control_dependencies([total.assign_add(2.0)]):
    return _train(kernel, _read(dataset)) * total


@tff.tensorflow.computation(_KERNEL, _IMAGES)
def _train_compiled(kernel, dataset):
  return tf.function(_train, jit_compile=True)(kernel, _read(dataset))


def _at_clients(computation):
  @tff.federated_computation(
    tff.FederatedType(_KERNEL, tff.SERVER),
    tff.FederatedType(_IMAGES, tff.CLIENTS),
  )
  def compute(kernel, images):
    return tff.federated_map(
      computation, (tff.federated_broadcast(kernel), images)
    )

  return compute


def _images(size):
  generator = np.random.default_rng(size)
  return tf.data.Dataset.from_tensor_slices(
    generator.normal(size=(2, size, 6, 6, 2)).astype(np.float32)
  )


class LimitedFunctionTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(
      mock.patch.dict(os.environ, {runtime.OWN_THREADS: 'true'})
    )
    self._kernel = np.random.default_rng(0).normal(size=[3, 3, 2, 4])
    self._kernel = self._kernel.astype(np.float32)

  def _run(self, computation, sizes, **options):
    with runtime.simulation_context(**options):
      return computation(self._kernel, [_images(size) for size in sizes])

  @parameterized.parameters(
    # Code, and whether it can run in a session.
    (_train_on_all, True),
    (_train_on_chunks, True),
    (_train_piece_by_piece, True),
    (_train_a_variable, True),
    (_train_compiled, True),
  )
  def test_numbers_are_the_same(self, code, in_session):
    computation = _at_clients(code)
    expected = self._run(computation, (1, 4, 2))
    with mock.patch.object(
      tf.compat.v1, 'Session', side_effect=tf.compat.v1.Session
    ) as session:
      found = self._run(
        computation,
        (1, 4, 2),
        client_threads_per_operation=1,
        max_concurrent_clients=2,
      )
    self.assertEqual(session.call_count, in_session)
    tf.nest.map_structure(self.assertAllEqual, found, expected)
    tf.nest.map_structure(
      lambda one, other: self.assertEqual(one.dtype, other.dtype),
      found,
      expected,
    )

  def test_the_server_has_no_session(self):
    @tff.federated_computation(
      tff.FederatedType(_KERNEL, tff.SERVER),
      tff.FederatedType(_IMAGES, tff.SERVER),
    )
    def compute(kernel, images):
      return tff.federated_map(_train_on_all, (kernel, images))

    with (
      runtime.simulation_context(client_threads_per_operation=1),
      mock.patch.object(tf.compat.v1, 'Session') as session,
    ):
      compute(self._kernel, _images(2))
    session.assert_not_called()

  def test_environment_is_asked_for(self):
    with mock.patch.dict(os.environ):
      os.environ.pop(runtime.OWN_THREADS)
      with self.assertRaisesRegex(RuntimeError, limited_functions.OWN_THREADS):
        runtime.InProcessContext(client_threads_per_operation=1)


if __name__ == '__main__':
  tf.test.main()
