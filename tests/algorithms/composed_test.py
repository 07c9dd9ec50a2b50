# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of parts of later methods, alone and combined, against NumPy."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import client_updates
from tests import linear_reference
from tests import simulation_test_case
from tests.core import linear_problem
from tff_semifl.algorithms import client_parts
from tff_semifl.algorithms import client_prior
from tff_semifl.algorithms import cohort_averages
from tff_semifl.algorithms import fix_mix
from tff_semifl.core import pseudo_labels
from tff_semifl.models import functional
from tff_semifl.models import static_batch_norm

_DECAY = 0.6
_CHANGES = {
  'selection': 'freematch',
  'threshold_decay': _DECAY,
  'labeler': 'averaged_teacher',
  'teacher_decay': 0.15,
  'alignment': 'distribution',
  'alignment_decay': 0.8,
  'alignment_strength': 0.5,
  'adjustment': 'client_classes',
  'regularizer': 'sharpness_aware',
  'consistency_threshold': 0.4,
  'weighting': 'learning_status',
}
_COHORTS = ([], [2, 0], [1, 2], [])


def _labels(probabilities):
  return pseudo_labels.from_logits(
    tf.math.log(tf.constant(probabilities, tf.float32))
  )


class SelectionTest(parameterized.TestCase):
  @parameterized.parameters(
    # Two deviations: the bell curve has half the width, so that one standard
    # deviation of 0.1 below the mean is exp(-2).
    (0.01, [1, 1, np.exp(-2), np.exp(-4.5)]),
    # Without variance all weigh the same.
    (0.0, [1, 1, 1, 1]),
  )
  def test_weights_of_softmatch(self, variance, expected):
    confidences = np.array([0.9, 0.8, 0.7, 0.65])
    weights = cohort_averages.SoftMatch().select(
      client_updates.of_labels(
        guidance={'confidence': 0.8, 'variance': variance}
      ),
      _labels(np.stack([confidences, 1 - confidences], axis=1)),
    )
    np.testing.assert_allclose(weights, expected, rtol=1e-3)

  def test_softmatch_keeps_mean_and_unbiased_variance_of_a_cohort(self):
    part = cohort_averages.SoftMatch(softness_decay=0.25)
    server = client_updates.create_server()
    state = part.init_guidance(server.model)
    clients = [[[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], [[0.9, 0.1, 0.0]]]
    sums = [
      part.report(client_updates.of_labels(_labels(probabilities)))
      for probabilities in clients
    ]
    total = tf.nest.map_structure(lambda *each: sum(each), *sums)
    state = part.guidance(state, total, server)
    confidences = [0.5, 0.6, 0.9]
    np.testing.assert_allclose(
      state['confidence'], 0.25 / 3 + 0.75 * np.mean(confidences), rtol=1e-5
    )
    np.testing.assert_allclose(
      state['variance'], 0.25 + 0.75 * np.var(confidences, ddof=1), rtol=1e-4
    )
    # No image was labeled.
    nothing = tf.nest.map_structure(tf.zeros_like, total)
    self.assertEqual(
      part.guidance(state, nothing, server)['variance'], state['variance']
    )
    weights = part.select(
      client_updates.of_labels(guidance=part.tell(state, server)),
      _labels(clients[1]),
    )
    np.testing.assert_array_equal(weights, [1])


class AlignmentTest(parameterized.TestCase):
  @parameterized.parameters(True, False)
  def test_labels_and_confidence(self, align_labels):
    # Divided by the shares: 0.6 / 0.8 and 0.4 / 0.2, so 3 / 11 and 8 / 11.
    part = cohort_averages.DistributionAlignment(align_labels=align_labels)
    labels = part.label(
      client_updates.of_labels(
        guidance={'class_shares': tf.constant([0.8, 0.2])}
      ),
      tf.math.log(tf.constant([[0.6, 0.4]])),
    )
    np.testing.assert_array_equal(labels.labels, [1 if align_labels else 0])
    np.testing.assert_allclose(labels.confidences, [8 / 11], rtol=1e-4)
    np.testing.assert_allclose(
      labels.probabilities, [[3 / 11, 8 / 11]], rtol=1e-4
    )
    np.testing.assert_allclose(labels.unaligned, [[0.6, 0.4]], rtol=1e-6)

  def test_class_that_was_never_predicted_is_raised_within_bounds(self):
    logits = cohort_averages.align(tf.zeros([1, 2]), tf.constant([1.0, 0.0]))
    np.testing.assert_allclose(logits, [[0, np.log(1e6)]], atol=1e-5)


class AdjustmentTest(absltest.TestCase):
  def test_offset_is_of_shares_with_a_pseudo_count(self):
    client = fix_mix.FixMix(
      adjustment=client_prior.LogitAdjustment(
        adjustment_strength=0.5, adjustment_pseudo_count=2.0
      )
    )
    probabilities = [[0.9, 0.1, 0.0], [0.5, 0.4, 0.1]]
    offset = client.logit_offset(
      client_updates.of_labels(), _labels(probabilities)
    )
    shares = (np.sum(probabilities, axis=0) + 2 / 3) / (2 + 2)
    np.testing.assert_allclose(offset, 0.5 * np.log(shares), rtol=1e-4)
    # Without an image shares are equal.
    offset = client_prior.LogitAdjustment().logit_offset(
      (), _labels(np.zeros([0, 4]))
    )
    np.testing.assert_allclose(offset, np.log(np.full(4, 0.25)), rtol=1e-6)


class TeacherTest(absltest.TestCase):
  def test_has_statistics_of_its_own(self):
    classifier = functional.from_keras(
      tf.keras.Sequential(
        [
          tf.keras.Input(linear_reference.IMAGE_SHAPE),
          static_batch_norm.StaticBatchNormalization(),
          tf.keras.layers.Conv2D(1, 1, kernel_initializer='ones'),
          static_batch_norm.StaticBatchNormalization(),
          tf.keras.layers.Flatten(),
          tf.keras.layers.Dense(linear_reference.NUM_CLASSES),
        ]
      )
    )
    labeler = client_parts.AveragedTeacher()
    teacher = labeler.init_guidance(classifier)
    # The first layer scales by 3 what the second sees.
    trainable = (3 * teacher.trainable[0], *teacher.trainable[1:])
    images = linear_reference.create_images(5)
    told = labeler.tell(
      teacher._replace(trainable=trainable),
      client_updates.with_images(
        images, np.zeros(5), model=classifier, weights=teacher
      ),
    )
    mean, variance, _, second_variance = told.non_trainable
    np.testing.assert_allclose(mean, [images.mean()], rtol=1e-5)
    np.testing.assert_allclose(
      variance, [images.var(ddof=1, dtype=np.float64)], rtol=1e-5
    )
    # The unbiased variance of 20 values.
    np.testing.assert_allclose(second_variance, [9 * 20 / 19], rtol=1e-3)


class ProcessTest(simulation_test_case.SimulationTestCase):
  def test_rounds_label_select_and_keep_as_numpy(self):
    problem = linear_problem.LinearProblem()
    process = linear_problem.build(
      'composed_semifl', _CHANGES, returns_given_labels=True
    )
    state = process.initialize()
    teacher = [np.array(w) for w in state.global_model_weights.trainable]
    confidence, shares, own_shares = 1 / 3, np.full(3, 1 / 3), np.full(3, 1 / 3)
    differences, num_left_out = [], 0
    for round_num, cohort in enumerate(_COHORTS):
      images = [problem.clients[client_id][1] for client_id in cohort]
      own = [
        linear_reference.softmax(linear_reference.logits(teacher, each))
        for each in images
      ]
      aligned = [each / np.sqrt(own_shares + 1e-6) for each in own]
      aligned = [each / each.sum(axis=1, keepdims=True) for each in aligned]
      labels = [each.argmax(axis=1) for each in aligned]
      thresholds = confidence * shares / shares.max()
      selected = [
        p.max(axis=1) >= thresholds[y]
        for p, y in zip(aligned, labels, strict=True)
      ]
      received = state.global_model_weights.trainable
      differences += [
        linear_reference.softmax(linear_reference.logits(received, x)) - p
        for x, p in zip(images, own, strict=True)
      ]
      output = process.next(
        state, problem.server_data, problem.client_data(cohort)
      )
      state = output.state
      decay = min(0.15, (1 + round_num) / (10 + round_num))
      teacher = [
        decay * old + (1 - decay) * np.array(new)
        for old, new in zip(
          teacher, state.global_model_weights.trainable, strict=True
        )
      ]
      if cohort:
        for found, y in zip(output.given_labels, labels, strict=True):
          np.testing.assert_array_equal(found.image, range(len(y)))
          np.testing.assert_array_equal(found.label, y)
        num_left_out += np.sum(~np.concatenate(selected))
        self.assertAlmostEqual(
          float(output.metrics['client']['label_ratio']),
          np.mean(np.concatenate(selected)),
          places=6,
        )
        p, q = np.concatenate(aligned), np.concatenate(own)
        confidence = _DECAY * confidence + (1 - _DECAY) * p.max(axis=1).mean()
        shares = _DECAY * shares + (1 - _DECAY) * p.mean(axis=0)
        own_shares = 0.8 * own_shares + 0.2 * q.mean(axis=0)
      kept = state.guidance
      for found, expected in (
        (kept['selection']['confidence'], confidence),
        (kept['selection']['class_shares'], shares),
        (kept['alignment']['class_shares'], own_shares),
        *zip(kept['labeler'].trainable, teacher, strict=True),
      ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    # The teacher is not the model that clients train, and not all images were
    # selected, or this shows little.
    self.assertGreater(np.abs(np.concatenate(differences)).max(), 0.003)
    self.assertGreater(num_left_out, 0)


if __name__ == '__main__':
  absltest.main()
