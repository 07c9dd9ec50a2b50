# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that clients at once are trained as one after another."""

import dataclasses

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

from tests import simulation_test_case
from tests.work import small_turns
from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiments import models
from tff_semifl.models import functional
from tff_semifl.tasks import cifar10
from tff_semifl.work import turn_form

# Of models that come in several.
_SMALL = {'model_depth': 7, 'model_width': 1}
_NUM_CLIENTS = 2
_NUM_IMAGES = 3
_NUM_REAL = 2


def tearDownModule():
  small_turns.forget()


@pytest.mark.slow
class SystemsTest(simulation_test_case.SimulationTestCase):
  def test_all_parts(self):
    """Two clients have as many images, one has more and one has none."""
    sizes = (22, 0, 22, 9)
    small_turns.assert_equal(
      small_turns.take(
        'composed_semifl', turn_form.STATIC, *sizes, clients_at_once=2
      ),
      small_turns.take('composed_semifl', turn_form.DYNAMIC, *sizes),
    )

  def test_labels_of_each_batch(self):
    """Here a client leaves out a step in which it is sure of no image."""
    sizes = (22, 22, 22)
    small_turns.assert_equal(
      small_turns.take(
        'batch_label_semifl', turn_form.STATIC, *sizes, clients_at_once=3
      ),
      small_turns.take('batch_label_semifl', turn_form.DYNAMIC, *sizes),
    )


@pytest.mark.slow
class ModelsTest(simulation_test_case.SimulationTestCase):
  @parameterized.parameters(*models.MODELS)
  def test_steps(self, name):
    """Each client trains on a padded batch, in a loop."""
    model = settings.change_present(models.MODELS[name], _SMALL)
    if name == 'resnet':
      model = settings.change(model, {'model_depth': 9})
    task = dataclasses.replace(
      cifar10.CIFAR10().create(), image_shape=(16, 16, 3)
    )
    classifier = functional.from_keras(model.create(task, seed=0))
    images_type = tff.TensorType(np.float32, [_NUM_IMAGES, 16, 16, 3])

    @tff.tensorflow.computation(classifier.weights_type, images_type)
    def train(weights, images):
      def step(number, trainable):
        with tf.GradientTape() as tape:
          tape.watch(trainable)
          logits = classifier.train_logits(
            weights._replace(trainable=trainable),
            images,
            tf.stack([1, number]),
            tf.constant(_NUM_REAL),
          )
          loss = tf.reduce_mean(tf.math.log_softmax(logits)[:_NUM_REAL, 3])
        gradients = tape.gradient(loss, trainable)
        return number + 1, [
          weight + 0.1 * gradient
          for weight, gradient in zip(trainable, gradients, strict=True)
        ]

      return tf.while_loop(
        lambda number, _: number < 1, step, (0, [*weights.trainable])
      )[1]

    @tff.federated_computation(
      tff.FederatedType(classifier.weights_type, tff.SERVER),
      tff.FederatedType(images_type, tff.CLIENTS),
    )
    def train_all(weights, images):
      return tff.federated_map(
        train, (tff.federated_broadcast(weights), images)
      )

    generator = np.random.default_rng(1)
    images = [
      generator.uniform(0, 255, size=images_type.shape).astype(np.float32)
      for _ in range(_NUM_CLIENTS)
    ]
    weights = classifier.initial_weights
    results = []
    for clients_at_once in (1, _NUM_CLIENTS):
      with runtime.simulation_context(clients_at_once=clients_at_once):
        results.append(train_all(weights, images))
    expected, found = results
    for before, *pairs in zip(
      weights.trainable, *expected, *found, strict=True
    ):
      for a, b in zip(pairs[:_NUM_CLIENTS], pairs[_NUM_CLIENTS:], strict=True):
        np.testing.assert_allclose(
          b - before,
          a - before,
          rtol=0,
          atol=1e-3 * np.max(np.abs(a - before)) + 1e-5,
        )
    # Each has its own.
    self.assertGreater(np.max(np.abs(found[0][0] - found[1][0])), 0)


if __name__ == '__main__':
  absltest.main()
