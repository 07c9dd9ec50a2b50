# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The metrics of a round: a row of `metrics.csv`."""

import collections
from collections.abc import Mapping, Sequence
import math
from typing import Any, NamedTuple

import numpy as np
import tree

from tff_semifl.core import pseudo_labels

# The name in `ClientMetrics.own`.
HIGHEST_CONFIDENCE = 'highest_confidence'


class EvaluationMetrics(NamedTuple):
  """Metrics of the global model on labeled images, after the server update.

  Attributes:
    accuracy: Share of correct predictions.
    loss: Mean cross-entropy.
    best_accuracy: The highest accuracy up to this round.
  """

  accuracy: float
  loss: float
  best_accuracy: float


class ServerMetrics(NamedTuple):
  """Metrics of server training over all steps; NaN without a step."""

  loss: float
  accuracy: float


class ClientMetrics(NamedTuple):
  """Metrics of the round's clients; NaN if not measured.

  Attributes:
    loss: Mean training loss; NaN if clients trained on no image.
    accuracy: Share of strongly augmented images that the model in training
      predicts as their pseudo-label; NaN if clients trained on no image, or if
      the loss computes no logits.
    label_ratio: Share of pseudo-labels that were trained on; NaN without
      pseudo-labels.
    pseudo_accuracy: Share of correct labels among all pseudo-labels.
    threshold_accuracy: Mean over groups of labels made at the same time,
      weighted by size, of the share of correct labels among labels trained on,
      or 0 if there were none. Low if few labels are confident, as in the
      figures of SemiFL's authors.
    micro_threshold_accuracy: Share of correct labels among all pseudo-labels
      trained on.
    num_participating: Number of clients whose update counted.
    num_rejected: Number of clients whose update was far too long, not finite,
      or so large that squares overflow float32.
    num_dropped: Number of sampled clients that dropped out by
      `client_dropout_probability`; absent sites do not count.
    weight_diversity: Diversity of the updates that counted
      (`client_work.measure`); NaN if no update changed the last layer, if
      the last layer is not dense, or if updates are private.
    relative_weight_diversity: `weight_diversity` times the number of clients
      whose update counted; NaN if `weight_diversity` is NaN.
    own: Further metrics of a system's clients, by name.
  """

  loss: float
  accuracy: float
  label_ratio: float
  pseudo_accuracy: float
  threshold_accuracy: float
  micro_threshold_accuracy: float
  num_participating: float
  num_rejected: float
  num_dropped: float
  weight_diversity: float
  relative_weight_diversity: float
  own: Mapping[str, float] = collections.OrderedDict()


def create_client_metrics(
  measured: Mapping[str, float], **others: float
) -> ClientMetrics:
  """Client metrics; measurements without a field go to `own`."""
  fields, own = {}, collections.OrderedDict()
  for name, value in measured.items():
    (fields if name in ClientMetrics._fields else own)[name] = value
  return ClientMetrics(**fields, **others, own=own)


class RoundMetrics(NamedTuple):
  """A row of `metrics.csv`, in which field `b` of part `a` is column `a/b`.

  Users' scripts read these columns: never rename or reorder columns. NaN, which
  means not measured, is an empty cell.

  Attributes:
    test: Metrics of the global model on the test images; empty if a validation
      split is used instead.
    server: Metrics of the server update.
    client: Metrics of the client updates.
    learning_rate: Learning rate of server and clients.
    seconds: Time since the previous row, including the evaluation.
    aggregator: Measurements of the aggregator, if any; `epsilon` is the privacy
      loss up to this round.
    validation: Metrics on the validation split; empty without one.
    further: Metrics of the settings `metrics` and `keep_best`, by column, such
      as `test/macro_f1`; these columns come last.
  """

  test: EvaluationMetrics | tuple[()]
  server: ServerMetrics
  client: ClientMetrics
  learning_rate: float
  seconds: float
  aggregator: Mapping[str, Any]
  validation: EvaluationMetrics | tuple[()] = ()
  further: Mapping[str, float] = collections.OrderedDict()

  @property
  def evaluation(self) -> EvaluationMetrics:
    """Metrics on the test images, or else on the validation split."""
    return self.test or self.validation


def by_column(metrics: Any) -> dict[str, float]:
  """Metrics by their columns in `metrics.csv`; NaN if not measured.

  Numbers in structures other than `RoundMetrics` are named by their paths.
  """
  further = {}
  if isinstance(metrics, RoundMetrics):
    metrics, further = metrics._replace(further={}), metrics.further
  named = {
    '/'.join(map(str, path)): value
    for path, value in tree.flatten_with_path(metrics)
  }
  return {name: float(value) for name, value in {**named, **further}.items()}


def shortest(value: np.float32 | float) -> float:
  """The float with the shortest decimal of the same float32, such as 0.03."""
  return float(str(value))


def measure_pseudo_labels(
  given_labels: Sequence[pseudo_labels.GivenLabels],
  true_labels: Sequence[np.ndarray],
) -> dict[str, float]:
  """The float32 accuracies of a round's pseudo-labels in `ClientMetrics`.

  Args:
    true_labels: int32 [images of the client], for each client of the cohort.
  """
  is_right = np.concatenate(
    [
      np.zeros(0, bool),
      *(
        truth[given.image] == given.label
        for given, truth in zip(given_labels, true_labels, strict=True)
      ),
    ]
  )
  share = np.concatenate([np.zeros(0), *(each.share for each in given_labels)])
  right_of_trained_on = is_right[share > 0]
  means = {
    'pseudo_accuracy': is_right,
    'threshold_accuracy': is_right * share,
    'micro_threshold_accuracy': right_of_trained_on,
  }
  return {
    name: np.float32(values.mean()) if len(values) else math.nan
    for name, values in means.items()
  }
