# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Compares each metric with scikit-learn, or with its definition."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from scipy import special
from sklearn import metrics

from tff_semifl.metrics import metric as metric_lib

_GENERATOR = np.random.default_rng(0)


def _random(num_images, num_classes, classes=None):
  labels = _GENERATOR.choice(classes or num_classes, num_images)
  logits = _GENERATOR.normal(size=[num_images, num_classes])
  return labels, logits.astype(np.float32)


def _one_hot(labels, num_classes, scale):
  return (scale * np.eye(num_classes)[labels]).astype(np.float32)


_LABELS = np.array([0, 0, 0, 1, 1, 2])
CASES = {
  'random': _random(50, 4),
  'two_classes': _random(31, 2),
  'ties': (_LABELS, np.round(_random(6, 3)[1])),
  'absent_class': _random(40, 4, classes=[0, 1, 3]),
  'never_predicted': (_LABELS, _random(6, 3)[1] - [0, 0, 9]),
  'one_class': _random(9, 3, classes=[1]),
  'one_image': (np.array([2]), np.array([[0.5, 1, 0]], np.float32)),
  'perfect': (_LABELS, _one_hot(_LABELS, 3, 100)),
  'all_wrong': (_LABELS, _one_hot((_LABELS + 1) % 3, 3, 100)),
  'constant': (_LABELS, np.zeros([6, 3], np.float32)),
}


def _ece(labels, probabilities):
  """The expected calibration error, image by image."""
  bins = {}
  for label, row in zip(labels, probabilities.tolist(), strict=True):
    confidence = max(row)
    bins.setdefault(np.ceil(confidence * 15), []).append(
      (row.index(confidence) == label) - confidence
    )
  return sum(abs(sum(each)) for each in bins.values()) / len(labels)


def _top_2(labels, logits):
  """The fraction of labels that are among the two highest logits."""
  found = []
  for label, row in zip(labels, logits, strict=True):
    before = [
      x > row[label] or (x == row[label] and c < label)
      for c, x in enumerate(row)
    ]
    found.append(sum(before) < 2)
  return np.mean(found)


class MetricsTest(parameterized.TestCase):
  @parameterized.parameters(*CASES)
  def test_equals_scikit_learn_or_the_definition(self, case):
    labels, logits = CASES[case]
    num_classes = logits.shape[1]
    classes, present = np.arange(num_classes), np.unique(labels)
    predicted = logits.argmax(axis=1)
    log_probabilities = special.log_softmax(logits.astype(float), axis=1)
    probabilities = np.exp(log_probabilities)
    of_each = {'labels': classes, 'average': None, 'zero_division': np.nan}
    areas = [
      metrics.roc_auc_score(labels == c, log_probabilities[:, c])
      for c in present
      if len(present) > 1
    ]
    expected = {
      'accuracy': metrics.accuracy_score(labels, predicted),
      'recall': metrics.recall_score(labels, predicted, **of_each),
      'precision': metrics.precision_score(labels, predicted, **of_each),
      'balanced_accuracy': metrics.balanced_accuracy_score(labels, predicted),
      'macro_f1': metrics.f1_score(
        labels, predicted, labels=present, average='macro'
      ),
      'auc': np.mean(areas) if areas else np.nan,
      'nll': -np.mean(log_probabilities[np.arange(len(labels)), labels]),
      'brier': np.mean(
        ((probabilities - np.eye(num_classes)[labels]) ** 2).sum(axis=1)
      ),
      'ece': _ece(labels, probabilities),
    }
    self.assertSameElements(expected, metric_lib.METRICS)
    expected['top_2'] = _top_2(labels, logits)
    for name, value in expected.items():
      found = metric_lib.load(name).compute(labels, logits)
      np.testing.assert_allclose(
        found, value, rtol=1e-6, atol=1e-9, err_msg=name
      )


if __name__ == '__main__':
  absltest.main()
