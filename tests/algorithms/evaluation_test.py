# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of evaluation, of models and of pseudo-labels."""

import collections

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tff_semifl import runtime
from tff_semifl.algorithms import evaluation
from tff_semifl.work import pseudo_labelling
from tff_semifl.work import round_context


def _noisy(images, seed):
  """Views that differ, so that pseudo-labels depend on the draw."""
  noise = tf.random.stateless_uniform(
    tf.shape(images), seed, maxval=200, dtype=tf.int32
  )
  return tf.cast(tf.cast(images, tf.int32) // 8 + noise, tf.uint8)


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
    self.assertEqual(
      evaluation.build_pseudo_label_evaluation(
        classifier,
        weak_augmentation=linear_reference.unchanged,
        confidence_threshold=0.5,
      ).type_signature.compact_representation(),
      f'(<weights={weights},'
      'context=<seed=int32,round_num=int32,learning_rate=float32>@SERVER,'
      'dataset={<client_id=int32,image=uint8[?,2,2,1],'
      'true_label=int32[?]>*}@CLIENTS> ->'
      ' <pseudo_accuracy=float32,threshold_accuracy=float32,'
      'micro_threshold_accuracy=float32>@SERVER)',
    )


class ExecutionTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(runtime.simulation_context())
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
      dataset = linear_reference.labelled_dataset(images, labels)
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

  def test_no_images_give_zero(self):
    images = linear_reference.create_images(1)
    dataset = linear_reference.labelled_dataset(images, np.zeros(1))
    evaluate = evaluation.build_evaluation(self.classifier)
    metrics = evaluate(self.weights, dataset.take(0))
    self.assertEqual(dict(metrics), {'accuracy': 0.0, 'loss': 0.0})

  def test_pseudo_labels_are_those_of_training_and_averaged_by_size(self):
    threshold = 0.35
    context = round_context.RoundContext(5, 3, 0.0)
    clients = {
      2: linear_reference.create_images(6, seed=2),
      9: linear_reference.create_images(3, seed=9),
      4: linear_reference.create_images(2, seed=4),
    }
    evaluate = evaluation.build_pseudo_label_evaluation(
      self.classifier,
      weak_augmentation=_noisy,
      confidence_threshold=threshold,
    )
    datasets, right, threshold_accuracies, sizes = [], [], [], []
    sure, sure_and_right = 0, 0
    for client_id, images in clients.items():
      labels = pseudo_labelling.label_images(
        self.classifier,
        self.weights,
        tf.constant(images),
        context=context,
        client_id=tf.constant(client_id),
        weak_augmentation=_noisy,
      )
      # One client has more right labels than another.
      is_wrong = np.arange(len(images)) >= client_id - 1
      truth = (labels.labels.numpy() + is_wrong) % 3
      datasets.append(
        tf.data.Dataset.from_tensors(
          collections.OrderedDict(
            client_id=np.int32(client_id),
            image=images,
            true_label=truth.astype(np.int32),
          )
        )
      )
      is_right = labels.labels.numpy() == truth
      is_sure = labels.confidences.numpy() >= threshold
      right.append(is_right.sum())
      # 0 for a client with no confident image (D17).
      threshold_accuracies.append(
        is_right[is_sure].mean() if is_sure.any() else 0.0
      )
      sizes.append(len(images))
      sure += is_sure.sum()
      sure_and_right += (is_sure & is_right).sum()
    metrics = evaluate(self.weights, context, datasets)
    self.assertAlmostEqual(
      metrics['pseudo_accuracy'], sum(right) / 11, places=6
    )
    self.assertAlmostEqual(
      metrics['threshold_accuracy'],
      np.average(threshold_accuracies, weights=sizes),
      places=6,
    )
    self.assertAlmostEqual(
      metrics['micro_threshold_accuracy'], sure_and_right / sure, places=6
    )
    # Otherwise the second average shows nothing.
    self.assertNotAlmostEqual(
      metrics['threshold_accuracy'], metrics['pseudo_accuracy']
    )
    self.assertNotAlmostEqual(
      metrics['threshold_accuracy'], metrics['micro_threshold_accuracy']
    )


if __name__ == '__main__':
  absltest.main()
