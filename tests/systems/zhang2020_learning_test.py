# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A test that Zhang et al.'s system learns from images without labels."""

from absl.testing import absltest
import numpy as np
import pytest

from tests import linear_reference
from tests import simulation_test_case
from tests.systems import slotted_process
from tests.systems import zhang2020_reference
from tff_semifl.training import evaluation


class LearningTest(simulation_test_case.SimulationTestCase):
  @pytest.mark.slow
  def test_learns_what_is_bright(self):
    """Images of three classes, by the pixel that is bright in them."""
    generator = np.random.default_rng(0)

    def create_images(labels):
      images = generator.integers(150, size=[len(labels), 4], dtype=np.uint8)
      images[np.arange(len(labels)), labels] += 100
      return images.reshape(-1, *linear_reference.IMAGE_SHAPE)

    labels = np.arange(12) % 3
    server_data = linear_reference.labeled_dataset(
      create_images(labels), labels
    )
    true_labels = np.arange(240) % 3
    images = create_images(true_labels)
    classifier = linear_reference.create_classifier()
    process = slotted_process.SlottedProcess(
      zhang2020_reference.build(
        'consistency_averaging',
        {
          'clients_per_round': 4,
          'batch_size': 12,
          'steps_per_round': 8,
          'learning_rate': 0.1,
          'schedule_steps': 400,
          'confidence_threshold': 0.8,
        },
        classifier=classifier,
        weak_augmentation=linear_reference.unchanged,
        strong_augmentation=linear_reference.unchanged,
      ),
      4,
    )
    evaluate = evaluation.build_evaluation(classifier)
    test_data = linear_reference.labeled_dataset(images, true_labels)
    state = process.initialize()
    results = [evaluate(state.global_model_weights, test_data)]
    server_losses = []
    for round_num in range(16):
      client_data = [
        linear_reference.client_dataset(client, images[client::4])
        for client in range(4 if round_num else 0)
      ]
      output = process.next(state, server_data, client_data)
      state = output.state
      results.append(evaluate(state.global_model_weights, test_data))
      server_losses.append(output.metrics['server']['loss'])
    self.assertLess(server_losses[-1], 0.8 * server_losses[1])
    self.assertLess(results[-1]['loss'], 0.8 * results[0]['loss'])
    self.assertLess(results[0]['accuracy'], 0.5)
    self.assertGreater(results[-1]['accuracy'], 0.75)


if __name__ == '__main__':
  absltest.main()
