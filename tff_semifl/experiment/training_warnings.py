# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Warnings about absent clients, and few or wrong pseudo-labels."""

import math

from absl import logging
import numpy as np
import tqdm

from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import round_metrics
from tff_semifl.metrics import intervals

# Evaluated rounds in a row without a pseudo-label. One of five recorded runs
# has as many.
_PATIENCE = 5
_PATIENCE_IF_WRONG = 3
# Shares of wrong pseudo-labels to warn of, from many labeled images to all.
_MANY, _WRONG = 0.5, 0.25
_ALL, _WRONG_IF_ALL = 0.99, 0.05


class TrainingWarnings:
  """Warns, once each, of absent clients and of few or wrong pseudo-labels.

  `label` begins each warning. `confidence_threshold` is the setting, or None if
  the system does not use the threshold.
  """

  def __init__(
    self,
    label: str,
    *,
    clients_per_round: int,
    num_classes: int,
    num_test_images: int,
    confidence_threshold: float | None,
  ):
    self._label = label
    self._clients_per_round = clients_per_round
    self._num_classes = num_classes
    self._num_test_images = num_test_images
    self._threshold = confidence_threshold
    self._num_unlabeled = 0
    self._num_wrong = 0
    self._problems_named = set()

  def check_round(
    self, round_num: int, metrics: round_metrics.RoundMetrics
  ) -> None:
    """Warns of each problem on the first occurrence."""
    # Without clients, as in round 0, there is nothing to warn of.
    if not round_num or not self._clients_per_round:
      return
    client = metrics.client
    ratio = client.label_ratio
    if math.isnan(ratio):
      # Without pseudo-labels: clients are absent, or have labels.
      if not client.num_participating and not client.num_rejected:
        self._warn(
          'absent',
          f'no client took part in round {round_num}, and'
          f' {client.num_dropped:g} dropped out: the server trained alone; more'
          ' of --clients_per_round, or a lower --client_dropout_probability,'
          ' makes this rare',
        )
      return
    wrong = self._share_of_wrong(metrics)
    limit = _WRONG_IF_ALL if ratio >= _ALL else _WRONG
    # Soft labels of all images carry the uncertainty themselves.
    are_soft = self._threshold is None and ratio >= _ALL
    is_wrong = not are_soft and ratio >= _MANY and wrong >= limit
    self._num_wrong = self._num_wrong + 1 if is_wrong else 0
    self._num_unlabeled = self._num_unlabeled + 1 if ratio == 0 else 0
    if self._num_unlabeled == _PATIENCE:
      lower = '' if self._threshold is None else 'a lower threshold, '
      self._warn(
        'unlabeled',
        f'clients trained on no pseudo-label in the last {_PATIENCE} evaluated'
        ' rounds with pseudo-labels, so they changed nothing'
        f'{self._describe_state(metrics)}. What helps: {lower}more'
        ' --server_epochs or another --learning_rate, if the server has not'
        ' learned its own labels yet, or more labels',
      )
    if self._num_wrong == _PATIENCE_IF_WRONG:
      estimated = ''
      if math.isnan(client.micro_threshold_accuracy):
        estimated = (
          f', if the accuracy on {self._num_test_images} evaluated images holds'
          ' for clients, too'
        )
      self._warn(
        'wrong',
        f'{ratio:.1%} of pseudo-labels are trained on, of which {wrong:.1%} or'
        f' more are wrong{estimated}{self._describe_state(metrics)}. What'
        ' helps: a higher threshold, more labels, or a method for clients that'
        ' differ, such as client_prior_semifl; compare with labels alone,'
        ' --clients_per_round=0',
      )

  def _share_of_wrong(self, metrics: round_metrics.RoundMetrics) -> float:
    """A lower bound on the share of wrong pseudo-labels trained on."""
    share_right = metrics.client.micro_threshold_accuracy
    if not math.isnan(share_right):
      return 1 - share_right
    if not metrics.client.label_ratio > 0:
      return 0.0
    # At best, every image that the model classifies correctly has a label.
    num_right = round(metrics.evaluation.accuracy * self._num_test_images)
    most_right = intervals.of_accuracy(num_right, self._num_test_images).high
    return max(1 - most_right / metrics.client.label_ratio, 0.0)

  def _describe_state(self, metrics: round_metrics.RoundMetrics) -> str:
    """Known facts that may explain a problem, in parentheses."""
    known = []
    highest = metrics.client.own.get(round_metrics.HIGHEST_CONFIDENCE, math.nan)
    if not math.isnan(highest):
      known.append(
        f"the highest confidence among a client's images is {highest:.3g} on"
        ' average'
      )
    if self._threshold is not None:
      known.append(
        f'--confidence_threshold is {self._threshold:g}; with'
        f' {self._num_classes} classes, no confidence is below'
        f' {1 / self._num_classes:.2g}'
      )
    if not math.isnan(metrics.server.accuracy):
      known.append(
        "the server's accuracy on its own labels, while it trains, is"
        f' {metrics.server.accuracy:.1%}'
      )
    return f' ({"; ".join(known)})' if known else ''

  def _warn(self, problem: str, text: str) -> None:
    if problem not in self._problems_named:
      self._problems_named.add(problem)
      # Above the progress bar, if there is one.
      with tqdm.tqdm.external_write_mode():
        logging.warning('%s: %s', self._label, text)


def describe_idle_rounds(
  metrics: metrics_table.Metrics, confidence_threshold: float | None
) -> str | None:
  """A warning if at least half of the evaluated rounds had no pseudo-label.

  None otherwise. `confidence_threshold` is None if the system has none.
  """
  if 'client/label_ratio' not in metrics:
    return None
  ratios = metrics['client/label_ratio'][metrics['round'] > 0]
  # Undefined in rounds without clients.
  ratios = ratios[~np.isnan(ratios)]
  num_idle = np.count_nonzero(ratios == 0)
  # Early rounds often have no pseudo-label.
  if not num_idle or num_idle < len(ratios) / 2:
    return None
  remedy = ''
  if confidence_threshold is not None:
    remedy = (
      f'. A --confidence_threshold below {confidence_threshold:g} keeps more of'
      ' them'
    )
  return (
    f'clients trained on nothing in {num_idle} of {len(ratios)} evaluated'
    f' rounds: they had no confident pseudo-label{remedy}'
  )
