# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Metrics of labels and logits, loaded by name.

A metric takes labels, int [images] in 0..classes-1, and logits, float [images,
classes].
"""

from collections.abc import Callable, Sequence
import functools
import re
from typing import Any, NamedTuple

import numpy as np
from scipy import special
from scipy import stats

from tff_semifl import settings
from tff_semifl.settings import references

_TOP = re.compile(r'top_([1-9][0-9]*)')
# The bins of `ece`, as in Guo et al., ICML 2017.
_NUM_BINS = 15
_NUM_SAMPLES = 500


def accuracy(labels: np.ndarray, logits: np.ndarray) -> float:
  """The fraction of correct predictions."""
  return float(np.mean(logits.argmax(axis=1) == labels))


def recall(labels: np.ndarray, logits: np.ndarray) -> np.ndarray:
  """The fraction of each class's images that are predicted correctly.

  float64 [classes], NaN for a class without images.
  """
  confusion = count_confusion(labels, logits)
  return _divide(np.diag(confusion), confusion.sum(axis=1))


def precision(labels: np.ndarray, logits: np.ndarray) -> np.ndarray:
  """The fraction of correct predictions among the predictions of each class.

  float64 [classes], NaN for a class that is never predicted.
  """
  confusion = count_confusion(labels, logits)
  return _divide(np.diag(confusion), confusion.sum(axis=0))


def balanced_accuracy(labels: np.ndarray, logits: np.ndarray) -> float:
  """The mean recall of the classes that occur in `labels`."""
  return float(np.nanmean(recall(labels, logits)))


def macro_f1(labels: np.ndarray, logits: np.ndarray) -> float:
  """The mean F1 of the classes that occur in `labels`.

  scikit-learn's default also counts classes that are only predicted, with F1 0.
  """
  confusion = count_confusion(labels, logits)
  sizes = confusion.sum(axis=1)
  f1 = _divide(2 * np.diag(confusion), sizes + confusion.sum(axis=0))
  return float(np.mean(f1[sizes > 0]))


def auc(labels: np.ndarray, logits: np.ndarray) -> float:
  """The mean one-vs-rest area under the ROC curve; NaN with a single class."""
  present = np.unique(labels)
  if len(present) < 2:
    return float('nan')
  # Log probabilities, because the highest probabilities may all round to 1.
  scores = _log_probabilities(logits)
  return float(np.mean([_area(labels == c, scores[:, c]) for c in present]))


def top_k(labels: np.ndarray, logits: np.ndarray, k: int) -> float:
  """The fraction of images whose class is among the k highest logits."""
  order = np.argsort(-logits, axis=1, kind='stable')
  return float(np.mean((order[:, :k] == labels[:, np.newaxis]).any(axis=1)))


def nll(labels: np.ndarray, logits: np.ndarray) -> float:
  """The mean negative log likelihood of the labels, in nats."""
  return float(
    -np.mean(_log_probabilities(logits)[np.arange(len(labels)), labels])
  )


def brier(labels: np.ndarray, logits: np.ndarray) -> float:
  """The mean squared distance of probabilities from one-hot labels, in 0..2.

  Brier. Verification of forecasts expressed in terms of probability. Monthly
  Weather Review 78 (1950). scikit-learn halves this score for two classes.
  """
  errors = _probabilities(logits)
  errors[np.arange(len(labels)), labels] -= 1
  return float(np.mean(np.sum(errors**2, axis=1)))


def ece(labels: np.ndarray, logits: np.ndarray) -> float:
  """The expected calibration error, in 0..1.

  The mean over images of the absolute difference between accuracy and mean
  confidence in the image's bin. (Guo, Pleiss, Sun, Weinberger. On Calibration
  of Modern Neural Networks. ICML 2017.)
  """
  return calibration_error(bin_by_confidence(labels, _probabilities(logits)))


def calibration_error(bins: np.ndarray) -> float:
  """The expected calibration error from the bins of `bin_by_confidence`."""
  size, right, confidence = bins.T
  return float(np.abs(right - confidence).sum() / size.sum())


def bin_by_confidence(
  labels: np.ndarray, probabilities: np.ndarray
) -> np.ndarray:
  """Sums over the images in each bin of confidence, float64 [bins, 3].

  The 15 bins are equal intervals of the predicted class's probability. Columns
  are the number of images, the number of correct predictions, and the sum of
  confidences. Bins include their upper end; the first also includes 0.
  """
  bins = np.zeros([_NUM_BINS, 3])
  confidence = probabilities.max(axis=1).astype(np.float64)
  is_right = probabilities.argmax(axis=1) == labels
  bin_of = np.ceil(confidence * _NUM_BINS).astype(int) - 1
  counts = np.stack([np.ones_like(confidence), is_right, confidence], 1)
  np.add.at(bins, np.clip(bin_of, 0, _NUM_BINS - 1), counts)
  return bins


def _log_probabilities(logits: np.ndarray) -> np.ndarray:
  return special.log_softmax(logits.astype(np.float64), axis=1)


def _probabilities(logits: np.ndarray) -> np.ndarray:
  return special.softmax(logits.astype(np.float64), axis=1)


def _area(is_class: np.ndarray, scores: np.ndarray) -> float:
  """The area under the ROC curve, by the Mann-Whitney statistic."""
  num_pairs = int(is_class.sum()) * int((~is_class).sum())
  ranks = stats.rankdata(scores)[is_class]
  least = len(ranks) * (len(ranks) + 1) / 2
  return (ranks.sum() - least) / num_pairs


def count_confusion(labels: np.ndarray, logits: np.ndarray) -> np.ndarray:
  """The confusion matrix, int64 [classes, classes]: labels x predictions."""
  num_classes = logits.shape[1]
  pairs = np.asarray(labels, np.int64) * num_classes + logits.argmax(axis=1)
  return np.bincount(pairs, minlength=num_classes**2).reshape(
    num_classes, num_classes
  )


def _divide(numbers: np.ndarray, sizes: np.ndarray) -> np.ndarray:
  return np.divide(
    numbers, sizes, out=np.full(len(sizes), np.nan), where=sizes > 0
  )


class Metric(NamedTuple):
  """A metric over all evaluated images.

  Attributes:
    name: The name of the metric's column, after `test/` or `validation/`.
    compute: (labels, logits) -> a number, or float [classes] if `by_class`. NaN
      where undefined.
    higher_is_better: Whether better models have higher values.
    by_class: Whether there is a value for each class.
    min_classes: The least number of classes to which the metric applies.
  """

  name: str
  compute: Callable[[np.ndarray, np.ndarray], Any]
  higher_is_better: bool = True
  by_class: bool = False
  min_classes: int = 2

  def columns(self, class_names: Sequence[str]) -> list[str]:
    """The names of the metric's columns, in order."""
    if not self.by_class:
      return [self.name]
    return [f'{self.name}/{each}' for each in class_names]


METRICS = {
  'accuracy': Metric('accuracy', accuracy),
  'balanced_accuracy': Metric('balanced_accuracy', balanced_accuracy),
  'macro_f1': Metric('macro_f1', macro_f1),
  'recall': Metric('recall', recall, by_class=True),
  'precision': Metric('precision', precision, by_class=True),
  'auc': Metric('auc', auc),
  'ece': Metric('ece', ece, higher_is_better=False),
  'nll': Metric('nll', nll, higher_is_better=False),
  'brier': Metric('brier', brier, higher_is_better=False),
}


def is_own(name: str) -> bool:
  """Whether this package has a metric called `name`."""
  return name in METRICS or _TOP.fullmatch(name) is not None


def load(name: str) -> Metric:
  """Loads the metric called `name`."""
  if name in METRICS:
    return METRICS[name]
  if ':' in name:
    return _load_outside(name)
  found = _TOP.fullmatch(name)
  if found is None:
    known = [*METRICS, 'top_5']
    raise ValueError(
      f'{settings.did_you_mean(name, known)}must be one of'
      f' {", ".join(METRICS)}, top_K, or package.module:NAME'
    )
  k = int(found[1])
  return Metric(name, functools.partial(top_k, k=k), min_classes=k + 1)


def _load_outside(reference: str) -> Metric:
  """Loads a user's metric from `package.module:NAME`."""
  found = references.load(reference)
  name = references.name_within(reference)
  if is_own(name) or name in ('loss', 'best_accuracy'):
    raise ValueError(f'has the name of another metric, {name}')
  references.check_callable(found, 'labels', 'logits')
  return Metric(
    name,
    lambda labels, logits: _to_number(found(labels, logits)),
    getattr(found, 'higher_is_better', True),
  )


def _to_number(value: object) -> float:
  array = np.asarray(value)
  if array.size != 1 or array.dtype.kind not in 'buif':
    raise ValueError(f'returned {value!r}, not a number')
  return float(array.reshape(()))


def bootstrap(
  compute: Callable[[np.ndarray, np.ndarray], float],
  labels: np.ndarray,
  logits: np.ndarray,
  *,
  seed: int = 0,
) -> tuple[float, float]:
  """The 95% percentile interval of a metric, by resampling images.

  Efron, Tibshirani. An Introduction to the Bootstrap. 1993, chapter 13.

  `labels` are int [images] and `logits` float [images, classes]; `seed` is for
  resampling. Resamples where the metric is NaN, such as the AUC of one class,
  are left out; both ends are NaN if no resample remains.
  """
  generator = np.random.default_rng(seed)
  samples = generator.integers(len(labels), size=[_NUM_SAMPLES, len(labels)])
  values = np.array([compute(labels[i], logits[i]) for i in samples])
  known = values[~np.isnan(values)]
  if not len(known):
    return float('nan'), float('nan')
  low, high = np.quantile(known, [0.025, 0.975])
  return float(low), float(high)
