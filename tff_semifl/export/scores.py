# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Accuracy, loss and calibration of an exported model."""

from collections.abc import Iterable, Sequence
import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from tff_semifl.export import exported_model
from tff_semifl.metrics import metric as metric_lib

# Lower probabilities are clipped, as in Keras: TFLite's int8 outputs have steps
# of 1/256, and the loss of a 0 would be infinite.
_MIN_PROBABILITY = 1e-7
_METRICS = ('balanced_accuracy', 'macro_f1', 'auc')


class MetricScore(NamedTuple):
  """A metric with its 95% interval; NaN where undefined for the images."""

  value: float
  low: float
  high: float


@dataclasses.dataclass(frozen=True)
class Scores:
  """A model's predictions for labeled images, and scores of the predictions."""

  # int64 [images], and float32 [images, classes].
  labels: np.ndarray
  probabilities: np.ndarray

  @functools.cached_property
  def confusion(self) -> np.ndarray:
    """Image counts by class (row) and prediction, int64 [classes, classes]."""
    return metric_lib.count_confusion(self.labels, self.probabilities)

  @functools.cached_property
  def bins(self) -> np.ndarray:
    """Counts by confidence, float64 [bins, 3]; see `bin_by_confidence`."""
    return metric_lib.bin_by_confidence(self.labels, self.probabilities)

  @property
  def loss(self) -> float:
    """Mean cross-entropy over all images."""
    of_labels = self.probabilities[np.arange(self.num_images), self.labels]
    clipped = np.maximum(of_labels.astype(np.float64), _MIN_PROBABILITY)
    return float(np.log(1 / clipped).mean())

  @property
  def logits(self) -> np.ndarray:
    """Logits whose softmax is the predicted probabilities."""
    return np.log(np.maximum(self.probabilities, np.finfo(np.float32).tiny))

  def measure(self) -> dict[str, MetricScore]:
    """Metrics by name, with bootstrap intervals."""
    found = {}
    for name in _METRICS:
      compute = metric_lib.METRICS[name].compute
      found[name] = MetricScore(
        compute(self.labels, self.logits),
        *metric_lib.bootstrap(compute, self.labels, self.logits),
      )
    return found

  @property
  def num_images(self) -> int:
    """Number of images."""
    return len(self.labels)

  @property
  def accuracy(self) -> float:
    """Share of correct predictions."""
    return float(np.trace(self.confusion) / self.num_images)

  @property
  def calibration_error(self) -> float:
    """Expected calibration error, in 0..1; see `metric.ece`."""
    return metric_lib.calibration_error(self.bins)

  @property
  def calibration_error_by_chance(self) -> float:
    """The expected calibration error of a perfectly calibrated model, in 0..1.

    A bin's accuracy differs from its confidence by chance: on average by the
    mean absolute deviation of a binomial distribution (de Moivre, 1730). The
    difference is larger for bins with fewer images.
    """
    size, _, confidence = self.bins[self.bins[:, 0] > 0].T
    mean = np.minimum(confidence / size, 1.0)
    above = np.floor(size * mean) + 1
    deviations = 2 * above * (1 - mean) * stats.binom.pmf(above, size, mean)
    return float(deviations.sum() / self.num_images)

  @property
  def mean_confidence(self) -> float:
    """Mean probability of the predicted class, in 0..1."""
    return float(self.bins[:, 2].sum() / self.num_images)

  @property
  def class_sizes(self) -> np.ndarray:
    """Number of images of each class, int64 [classes]."""
    return self.confusion.sum(axis=1)

  def to_dict(self, class_names: Sequence[str]) -> dict[str, Any]:
    """All scores as values for JSON."""
    return {
      'accuracy': self.accuracy,
      'loss': self.loss,
      'calibration_error': self.calibration_error,
      'calibration_error_by_chance': self.calibration_error_by_chance,
      'mean_confidence': self.mean_confidence,
      'num_images': self.num_images,
      'classes': {
        name: {
          'num_images': int(size),
          'accuracy': float(right / size) if size else None,
        }
        for name, size, right in zip(
          class_names, self.class_sizes, np.diag(self.confusion), strict=True
        )
      },
      'confusion': self.confusion.tolist(),
    }


def score(
  model: exported_model.ExportedModel,
  batches: Iterable[tuple[np.ndarray, np.ndarray]],
) -> Scores:
  """Evaluates a model on labeled batches; there must be at least one example.

  A batch is (examples, labels). Examples are images, uint8 [batch, height,
  width, channels], or feature vectors, float32 [batch, features]; labels are
  int [batch].
  """
  seen = ((labels, model.predict(images)) for images, labels in batches)
  return Scores(*map(np.concatenate, zip(*seen, strict=True)))
