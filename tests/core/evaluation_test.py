# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the evaluation of models."""

from absl.testing import absltest
import numpy as np

from tests import linear_reference
from tests import simulation_test_case
from tff_semifl.core import evaluation


class EvaluationTest(simulation_test_case.SimulationTestCase):
  def test_equals_numpy_for_any_chunks(self):
    classifier = linear_reference.create_classifier()
    weights = classifier.initial_weights
    images, labels = linear_reference.create_images(7), np.arange(7) % 3
    logits = linear_reference.logits(weights.trainable, images)
    probabilities = linear_reference.softmax(logits)
    accuracy = np.mean(probabilities.argmax(axis=1) == labels)
    loss = -np.mean(np.log(probabilities[np.arange(7), labels]))
    dataset = linear_reference.labeled_dataset(images, labels)
    for keeps_logits in (False, True):
      evaluate = evaluation.build_evaluation(
        classifier, keeps_logits=keeps_logits
      )
      for chunk in (3, 7):
        found = dict(evaluate(weights, dataset.unbatch().batch(chunk)))
        if keeps_logits:
          np.testing.assert_allclose(found.pop('logits'), logits, rtol=1e-5)
        self.assertCountEqual(found, ['accuracy', 'loss'])
        self.assertAlmostEqual(found['accuracy'], accuracy, places=6)
        self.assertAlmostEqual(found['loss'], loss, places=5)
      no_images = evaluate(weights, dataset.take(0))
      self.assertEqual(no_images['accuracy'], 0)
      self.assertEqual(no_images['loss'], 0)


if __name__ == '__main__':
  absltest.main()
