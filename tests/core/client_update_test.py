# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the clients of SemiFL and FixMatch against NumPy."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import batch_label_reference
from tests import fix_mix_reference
from tests import given_labels_reference
from tests import linear_reference
from tests.core import plain_work
from tff_semifl.algorithms import fix_mix
from tff_semifl.core import federated_process
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.models import static_batch_norm

_RATE = 0.25
_CONTEXT = federated_process.RoundContext(plain_work.SEED, 4, _RATE)
# The seed of client 3 in the reference.
_CLIENT = {
  'client_id': 3,
  'round_num': 4,
  'seed': plain_work.SEED,
  'learning_rate': _RATE,
  'num_epochs': 2,
  'batch_size': 2,
}
_VIEWS = {
  'weak': linear_reference.shifted,
  'strong': linear_reference.inverted,
  'dropout_rate': 0.25,
}


def _data(*clients):
  """The datasets for pairs of client number and images."""
  return [linear_reference.client_dataset(*client) for client in clients]


class SemiFLTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.weights = linear_reference.create_classifier().initial_weights
    cls.images = linear_reference.create_images(7)
    probabilities = linear_reference.softmax(
      linear_reference.logits(cls.weights.trainable, cls.images)
    )
    cls.confidences = probabilities.max(axis=1)
    # A threshold for which five of seven images are confident.
    cls.threshold = float(np.sort(cls.confidences)[1:3].mean())

  def test_update_and_loss_equal_numpy(self):
    clients = plain_work.build_linear_clients(
      fix_mix.FixMix(),
      {'confidence_threshold': self.threshold, 'mix_loss_weight': 0.5},
      **_VIEWS,
    )
    output = clients(self.weights, _CONTEXT, _data((3, self.images)))
    expected = fix_mix_reference.train_client(
      self.weights.trainable,
      self.images,
      threshold=self.threshold,
      mix_loss_weight=0.5,
      **_CLIENT,
      **_VIEWS,
    )
    # Some images are confident, some are not, and the last batch is smaller.
    self.assertBetween(expected.num_confident, 3, 6)
    [result] = output.result
    linear_reference.assert_is_update(
      result.update, self.weights.trainable, expected.weights
    )
    self.assertEqual(result.update_weight, 1.0)
    np.testing.assert_array_equal(result.given_labels.label, expected.labels)
    for name, value in {
      'loss': expected.loss_sum / expected.num_examples,
      'accuracy': expected.num_correct / expected.num_examples,
      'label_ratio': expected.num_confident / 7,
      'num_participating': 1.0,
    }.items():
      self.assertAlmostEqual(output.measurements[name], value, places=5)

  def test_clients_that_are_sure_of_nothing_or_have_no_images(self):
    # All confidences but one are below this threshold.
    order = np.argsort(self.confidences)
    unsure, sure = self.images[order[:-1]], self.images[order[-1:]]
    highest = self.confidences[order[-2:]]
    clients = plain_work.build_linear_clients(
      fix_mix.FixMix(),
      {'confidence_threshold': float(highest.mean())},
      keep_optimizer_state=True,
    )
    memory = {
      'learning_rate': np.float32(0),
      'accumulator': [np.ones([4, 3], np.float32), np.ones([3], np.float32)],
    }
    cohort = [(3, unsure), (1, sure[:0]), (2, sure)]
    nothing, empty, output = (
      clients(self.weights, _CONTEXT, _data(*some), [memory] * len(some))
      for some in (cohort[:1], cohort[1:2], cohort)
    )
    for each in (nothing, empty):
      [result] = each.result
      self.assertEqual(result.update_weight, 0.0)
      for update in result.update:
        np.testing.assert_array_equal(update, np.zeros_like(update))
      for array in result.memory['accumulator']:
        np.testing.assert_array_equal(array, np.ones_like(array))
    self.assertEqual(nothing.measurements['label_ratio'], 0.0)
    # NaN, because 0 would look like a measurement.
    self.assertTrue(np.isnan(empty.measurements['label_ratio']))
    self.assertTrue(np.isnan(empty.measurements['loss']))
    measured = output.measurements
    self.assertEqual(measured['num_participating'], 1.0)
    # Clients without an update add no loss, but their images count.
    self.assertAlmostEqual(measured['label_ratio'], 1 / 7, places=6)
    self.assertAlmostEqual(
      measured['highest_confidence'], highest.mean(), places=6
    )


class LabelEachBatchTest(parameterized.TestCase):
  """Tests of the client that labels each batch."""

  @parameterized.parameters(None, [[-1] * 4 + [0, -1, -1, 2] + [-1] * 4])
  def test_update_and_metrics_equal_numpy(self, own_labels):
    """Also of a client with labels of some images, which are always used."""
    weights = linear_reference.create_classifier().initial_weights
    # The model is less confident for dark images.
    images = linear_reference.create_images(12)
    images[:6] //= 8
    clients = plain_work.build_linear_clients(
      fix_mix.LabelEachBatch(),
      {'confidence_threshold': 0.365},
      data_type=own_labels
      and pipelines.labeled_client_type(linear_reference.IMAGE_SHAPE),
      **_VIEWS,
    )
    own_labels = own_labels and np.array(own_labels)
    output = clients(weights, _CONTEXT, _data((3, images, own_labels)))
    expected = batch_label_reference.train_client(
      weights.trainable,
      images,
      threshold=0.365,
      true_labels=own_labels,
      **_CLIENT,
      **_VIEWS,
    )
    # Some batches have no selected image, and some have one of two.
    self.assertGreater(expected.num_skipped, 0)
    self.assertGreater(expected.num_confident, 3)
    self.assertGreater(2 * (12 - expected.num_skipped), expected.num_examples)
    [result] = output.result
    given_labels_reference.assert_given(result.given_labels, expected.labeled)
    linear_reference.assert_is_update(
      result.update, weights.trainable, expected.weights
    )
    num_true = 0 if own_labels is None else np.sum(own_labels >= 0)
    self.assertEqual(expected.num_labeled, 2 * (12 - num_true))
    for name, value in {
      'label_ratio': expected.num_confident / expected.num_labeled,
      'loss': expected.loss_sum / expected.num_examples,
      'accuracy': expected.num_correct / expected.num_examples,
    }.items():
      self.assertAlmostEqual(output.measurements[name], value, places=5)

  def test_labels_are_by_the_statistics_of_the_batch(self):
    """Statistics that were received with the model have no effect on labels."""
    classifier = functional.from_keras(
      tf.keras.Sequential(
        [
          tf.keras.Input(linear_reference.IMAGE_SHAPE),
          static_batch_norm.StaticBatchNormalization(),
          tf.keras.layers.Flatten(),
          tf.keras.layers.Dense(
            linear_reference.NUM_CLASSES,
            kernel_initializer=tf.keras.initializers.GlorotUniform(seed=0),
          ),
        ]
      )
    )
    clients = plain_work.build_linear_clients(
      fix_mix.LabelEachBatch(),
      {'confidence_threshold': 0.5},
      classifier=classifier,
    )
    weights = classifier.initial_weights
    mean, variance = weights.non_trainable
    others = weights._replace(non_trainable=(mean + 100, variance * 7))
    images = linear_reference.create_images(12)
    updates = [
      clients(received, _CONTEXT, _data((3, images))).result[0].update
      for received in (weights, others)
    ]
    for a, b in zip(*updates, strict=True):
      np.testing.assert_array_equal(a, b)
    self.assertGreater(np.abs(updates[0][2]).max(), 0)
    # A client without confident images counts, without a change of the model; a
    # client without images does not count.
    output = clients(weights, _CONTEXT, _data((0, 0 * images), (1, images[:0])))
    self.assertEqual([each.update_weight for each in output.result], [1, 0])
    for array in output.result[0].update:
      np.testing.assert_array_equal(array, np.zeros_like(array))


if __name__ == '__main__':
  absltest.main()
