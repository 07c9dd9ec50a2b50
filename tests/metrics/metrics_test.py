# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Compares each metric with its definition, counted image by image."""

import math

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


def _probabilities(logits):
  rows = []
  for row in logits.astype(float):
    exponentials = [math.exp(x - max(row)) for x in row]
    rows.append([x / sum(exponentials) for x in exponentials])
  return rows


def _predict(logits):
  return [list(row).index(max(row)) for row in logits]


def _count(labels, logits, c):
  """Returns true positives, false positives and false negatives."""
  pairs = list(zip(labels, _predict(logits), strict=True))
  return (
    sum(p == c == t for t, p in pairs),
    sum(p == c != t for t, p in pairs),
    sum(t == c != p for t, p in pairs),
  )


def _mean(values):
  return sum(values) / len(values) if values else math.nan


def _divide(a, b):
  return a / b if b else math.nan


def _accuracy(labels, logits):
  return _mean([p == t for t, p in zip(labels, _predict(logits), strict=True)])


def _recall(labels, logits):
  counts = [_count(labels, logits, c) for c in range(logits.shape[1])]
  return [_divide(tp, tp + fn) for tp, _, fn in counts]


def _precision(labels, logits):
  counts = [_count(labels, logits, c) for c in range(logits.shape[1])]
  return [_divide(tp, tp + fp) for tp, fp, _ in counts]


def _balanced_accuracy(labels, logits):
  recall = _recall(labels, logits)
  return _mean([recall[c] for c in sorted(set(labels))])


def _macro_f1(labels, logits):
  counts = [_count(labels, logits, c) for c in sorted(set(labels))]
  return _mean([2 * tp / (2 * tp + fp + fn) for tp, fp, fn in counts])


def _auc(labels, logits):
  """The share of pairs in the right order, of which ties count half."""
  # The order of log probabilities, without their rounding.
  scores = [
    [x - math.log(sum(math.exp(y - max(row)) for y in row)) - max(row)]
    for row in logits.astype(float)
    for x in row
  ]
  scores = np.reshape(scores, logits.shape)
  areas = []
  for c in sorted(set(labels)):
    right, wrong = scores[labels == c, c], scores[labels != c, c]
    if len(wrong):
      areas.append(
        _mean([(a > b) + (a == b) / 2 for a in right for b in wrong])
      )
  return _mean(areas)


def _nll(labels, logits):
  return _mean(
    [
      math.log(sum(math.exp(x - max(row)) for x in row)) + max(row) - row[t]
      for t, row in zip(labels, logits.astype(float), strict=True)
    ]
  )


def _brier(labels, logits):
  return _mean(
    [
      sum((p - (c == t)) ** 2 for c, p in enumerate(row))
      for t, row in zip(labels, _probabilities(logits), strict=True)
    ]
  )


def _ece(labels, logits):
  bins = {}
  for t, row in zip(labels, _probabilities(logits), strict=True):
    confidence = max(row)
    bins.setdefault(math.ceil(confidence * 15), []).append(
      (row.index(confidence) == t) - confidence
    )
  return sum(abs(sum(each)) for each in bins.values()) / len(labels)


def _top_2(labels, logits):
  found = []
  for t, row in zip(labels, logits, strict=True):
    before = [x > row[t] or (x == row[t] and c < t) for c, x in enumerate(row)]
    found.append(sum(before) < 2)
  return _mean(found)


DEFINITIONS = {
  'accuracy': _accuracy,
  'balanced_accuracy': _balanced_accuracy,
  'macro_f1': _macro_f1,
  'recall': _recall,
  'precision': _precision,
  'auc': _auc,
  'ece': _ece,
  'nll': _nll,
  'brier': _brier,
  'top_2': _top_2,
}


class MetricsTest(parameterized.TestCase):
  def test_each_metric_is_compared(self):
    self.assertContainsSubset(metric_lib.METRICS, DEFINITIONS)

  @parameterized.product(name=list(DEFINITIONS), case=list(CASES))
  def test_equals_its_definition(self, name, case):
    labels, logits = CASES[case]
    found = metric_lib.load(name).compute(labels, logits)
    np.testing.assert_allclose(
      found, DEFINITIONS[name](labels, logits), rtol=1e-6, atol=1e-9
    )

  @parameterized.parameters(*CASES)
  def test_equals_scikit_learn(self, case):
    labels, logits = CASES[case]
    classes, present = np.arange(logits.shape[1]), np.unique(labels)
    predicted = logits.argmax(axis=1)
    each = {'labels': classes, 'average': None, 'zero_division': np.nan}
    expected = {
      'recall': metrics.recall_score(labels, predicted, **each),
      'precision': metrics.precision_score(labels, predicted, **each),
      'balanced_accuracy': metrics.balanced_accuracy_score(labels, predicted),
      'macro_f1': metrics.f1_score(
        labels, predicted, labels=present, average='macro'
      ),
    }
    log_probabilities = special.log_softmax(logits.astype(float), axis=1)
    if len(present) > 1:
      expected['auc'] = np.mean(
        [
          metrics.roc_auc_score(labels == c, log_probabilities[:, c])
          for c in present
        ]
      )
    for name, value in expected.items():
      found = metric_lib.load(name).compute(labels, logits)
      np.testing.assert_allclose(found, value, rtol=1e-9, err_msg=name)


if __name__ == '__main__':
  absltest.main()
