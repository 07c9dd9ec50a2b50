# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Metrics of predicted classes: accuracy, recall, precision, F1, AUC, top-k.

Each takes labels, int [images] in 0..classes-1, and logits, float [images,
classes]. The predicted class is the first with the highest logit. Means over
classes are over classes that occur among the labels; an undefined value is NaN.
The bootstrap needs hundreds of evaluations, and these are many times as fast as
scikit-learn's, with which tests compare them.
"""

import numpy as np
from scipy import special
from scipy import stats


def accuracy(labels: np.ndarray, logits: np.ndarray) -> float:
  """The share of correct predictions."""
  return float(np.mean(_predict(logits) == labels))


def recall(labels: np.ndarray, logits: np.ndarray) -> np.ndarray:
  """The share of each class's images that are predicted correctly.

  Args:
    labels: int [images].
    logits: float [images, classes].

  Returns:
    float64 [classes], NaN for a class without images.
  """
  confusion = _count(labels, logits)
  return _divide(np.diag(confusion), confusion.sum(axis=1))


def precision(labels: np.ndarray, logits: np.ndarray) -> np.ndarray:
  """The share of correct predictions among those of each class.

  Args:
    labels: int [images].
    logits: float [images, classes].

  Returns:
    float64 [classes], NaN for a class that is never predicted.
  """
  confusion = _count(labels, logits)
  return _divide(np.diag(confusion), confusion.sum(axis=0))


def balanced_accuracy(labels: np.ndarray, logits: np.ndarray) -> float:
  """The mean recall of the classes that occur."""
  return float(np.nanmean(recall(labels, logits)))


def macro_f1(labels: np.ndarray, logits: np.ndarray) -> float:
  """The mean F1 of the classes that occur.

  scikit-learn's default also counts classes that are only predicted, with F1 0.
  """
  confusion = _count(labels, logits)
  sizes = confusion.sum(axis=1)
  f1 = _divide(2 * np.diag(confusion), sizes + confusion.sum(axis=0))
  return float(np.mean(f1[sizes > 0]))


def auc(labels: np.ndarray, logits: np.ndarray) -> float:
  """The mean one-vs-rest area under the ROC curve; NaN with a single class."""
  present = np.unique(labels)
  if len(present) < 2:
    return float('nan')
  # Log probabilities, as the highest probabilities may all round to 1.
  scores = special.log_softmax(logits.astype(np.float64), axis=1)
  return float(np.mean([_area(labels == c, scores[:, c]) for c in present]))


def top_k(labels: np.ndarray, logits: np.ndarray, k: int) -> float:
  """The share of images whose class is among the k with the highest logits.

  Args:
    labels: int [images].
    logits: float [images, classes].
  """
  order = np.argsort(-logits, axis=1, kind='stable')
  return float(np.mean((order[:, :k] == labels[:, np.newaxis]).any(axis=1)))


def _area(is_class: np.ndarray, scores: np.ndarray) -> float:
  """The area under the ROC curve: the Mann-Whitney statistic."""
  num_pairs = int(is_class.sum()) * int((~is_class).sum())
  ranks = stats.rankdata(scores)[is_class]
  least = len(ranks) * (len(ranks) + 1) / 2
  return (ranks.sum() - least) / num_pairs


def _count(labels: np.ndarray, logits: np.ndarray) -> np.ndarray:
  """The confusion matrix, int64 [classes, classes]: labels by predictions."""
  num_classes = logits.shape[1]
  pairs = np.asarray(labels, np.int64) * num_classes + _predict(logits)
  return np.bincount(pairs, minlength=num_classes**2).reshape(
    num_classes, num_classes
  )


def _divide(numbers: np.ndarray, sizes: np.ndarray) -> np.ndarray:
  return np.divide(
    numbers, sizes, out=np.full(len(sizes), np.nan), where=sizes > 0
  )


def _predict(logits: np.ndarray) -> np.ndarray:
  return logits.argmax(axis=1)
