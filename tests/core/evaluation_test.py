# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the evaluation of models."""

from absl.testing import absltest
import numpy as np

from tests import linear_reference
from tests import simulation_test_case
from tff_semifl.core import evaluation


class ComputationTest(absltest.TestCase):
  def test_types(self):
    weights = '<trainable=<float32[4,3],float32[3]>,non_trainable=<>>@SERVER'
    classifier = linear_reference.create_classifier()
    self.assertEqual(
      evaluation.build_evaluation(
        classifier
      ).type_signature.compact_representation(),
      f'(<weights={weights},'
      'dataset=<image=uint8[?,2,2,1],label=int32[?]>*@SERVER> ->'
      ' <accuracy=float32,loss=float32>@SERVER)',
    )


class ExecutionTest(simulation_test_case.SimulationTestCase):
  def setUp(self):
    super().setUp()
    self.classifier = linear_reference.create_classifier()
    self.weights = self.classifier.initial_weights

  def test_accuracy_and_loss_equal_numpy_for_any_chunks(self):
    images = linear_reference.create_images(7)
    labels = np.arange(7) % 3
    probabilities = linear_reference.softmax(
      linear_reference.logits(self.weights.trainable, images)
    )
    evaluate = evaluation.build_evaluation(self.classifier)
    for chunk in (3, 7):
      dataset = linear_reference.labeled_dataset(images, labels)
      metrics = evaluate(self.weights, dataset.unbatch().batch(chunk))
      self.assertAlmostEqual(
        metrics['accuracy'],
        np.mean(probabilities.argmax(axis=1) == labels),
        places=6,
      )
      self.assertAlmostEqual(
        metrics['loss'],
        -np.mean(np.log(probabilities[np.arange(7), labels])),
        places=5,
      )

  def test_logits_are_in_the_order_of_the_images(self):
    images = linear_reference.create_images(7)
    expected = linear_reference.logits(self.weights.trainable, images)
    evaluate = evaluation.build_evaluation(self.classifier, keeps_logits=True)
    without = evaluation.build_evaluation(self.classifier)
    for chunk in (3, 7):
      dataset = linear_reference.labeled_dataset(images, np.arange(7) % 3)
      dataset = dataset.unbatch().batch(chunk)
      found = dict(evaluate(self.weights, dataset))
      np.testing.assert_allclose(found.pop('logits'), expected, rtol=1e-5)
      self.assertEqual(found, dict(without(self.weights, dataset)))

  def test_no_images_give_zero(self):
    images = linear_reference.create_images(1)
    dataset = linear_reference.labeled_dataset(images, np.zeros(1))
    evaluate = evaluation.build_evaluation(self.classifier)
    metrics = evaluate(self.weights, dataset.take(0))
    self.assertEqual(dict(metrics), {'accuracy': 0.0, 'loss': 0.0})


if __name__ == '__main__':
  absltest.main()
