# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Warnings of rounds in which clients contribute nothing, or errors."""

from collections.abc import Iterator
import math

from absl import logging
import tqdm

from tff_semifl.runs import intervals
from tff_semifl.runs import round_metrics

# In one of five recorded runs, so many evaluated rounds in a row have no label.
_PATIENCE = 5
_PATIENCE_IF_WRONG = 3
# Shares of wrong pseudo-labels to warn of, from many labeled images to all.
_MANY, _WRONG = 0.5, 0.25
_ALL, _WRONG_IF_ALL = 0.99, 0.05


class TrainingWarnings:
  """A `progress.Watcher` that warns once of each of three problems.

  *   No client took part in a round.
  *   Clients trained on no pseudo-label for several evaluated rounds.
  *   Clients train on many pseudo-labels of which many are wrong.
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
    """Initializes the warnings.

    Args:
      label: Name of the run, with which each warning begins.
      clients_per_round: Size of a cohort.
      num_classes: Number of classes.
      num_test_images: Number of images that models are evaluated on.
      confidence_threshold: The setting, or None if the system does not use it.
    """
    self._label = label
    self._clients_per_round = clients_per_round
    self._num_classes = num_classes
    self._num_test_images = num_test_images
    self._threshold = confidence_threshold
    self._num_unlabeled = 0
    self._num_wrong = 0
    self._said = set()

  def start(self, first_round: int) -> None:
    """Does nothing: only evaluated rounds matter."""
    del first_round  # Rounds alone are watched.

  def show_round(
    self, round_num: int, metrics: round_metrics.RoundMetrics
  ) -> None:
    """Warns of each problem when it first occurs."""
    # Without clients, as in round 0, there is nothing to warn of.
    if not round_num or not self._clients_per_round:
      return
    client = metrics.client
    if math.isnan(client.label_ratio):
      # Without pseudo-labels: clients are absent, or have labels.
      if not client.num_participating and not client.num_rejected:
        self._warn('absent', self._describe_absent(round_num, client))
      return
    wrong = self._share_of_wrong(metrics)
    limit = _WRONG_IF_ALL if client.label_ratio >= _ALL else _WRONG
    # Soft labels of all images carry the uncertainty themselves.
    are_soft = self._threshold is None and client.label_ratio >= _ALL
    is_wrong = not are_soft and client.label_ratio >= _MANY and wrong >= limit
    self._num_wrong = self._num_wrong + 1 if is_wrong else 0
    is_unlabeled = client.label_ratio == 0
    self._num_unlabeled = self._num_unlabeled + 1 if is_unlabeled else 0
    if self._num_unlabeled == _PATIENCE:
      self._warn('unlabeled', ' '.join(self._describe_unlabeled(metrics)))
    if self._num_wrong == _PATIENCE_IF_WRONG:
      self._warn('wrong', ' '.join(self._describe_wrong(metrics, wrong)))

  def _share_of_wrong(self, metrics: round_metrics.RoundMetrics) -> float:
    """A lower bound on the share of wrong pseudo-labels trained on."""
    share_right = metrics.client.micro_threshold_accuracy
    if not math.isnan(share_right):
      return 1 - share_right
    if not metrics.client.label_ratio > 0:
      return 0.0
    # At best, all images that the model gets right are among those labeled.
    num_right = round(metrics.evaluation.accuracy * self._num_test_images)
    most_right = intervals.of_accuracy(num_right, self._num_test_images).high
    return max(1 - most_right / metrics.client.label_ratio, 0.0)

  def _describe_absent(
    self, round_num: int, client: round_metrics.ClientMetrics
  ) -> str:
    text = f'no client took part in round {round_num}'
    if client.num_dropped:
      text += (
        f': of {self._clients_per_round} chosen ones, {client.num_dropped:g}'
        ' dropped out'
      )
    return (
      f'{text}. The server trained alone, and such rounds count like others;'
      ' more of --clients_per_round, or a lower --client_dropout_probability,'
      ' makes them rare'
    )

  def _describe_unlabeled(
    self, metrics: round_metrics.RoundMetrics
  ) -> Iterator[str]:
    yield (
      f'clients trained on no pseudo-label in the last {_PATIENCE} evaluated'
      ' rounds with pseudo-labels, so they changed nothing.'
    )
    highest = metrics.client.own.get(round_metrics.HIGHEST_CONFIDENCE, math.nan)
    if not math.isnan(highest):
      yield (
        "The highest confidence among a client's images is"
        f' {highest:.3g} on average.'
      )
    if self._threshold is not None:
      yield f'--confidence_threshold is {self._threshold:g}.'
    yield from self._describe_server(metrics)
    lower = '' if self._threshold is None else 'a lower threshold, '
    yield (
      f'What helps: {lower}more --server_epochs or another --learning_rate, if'
      ' the server has not learned its own labels yet, or more labels.'
    )

  def _describe_wrong(
    self, metrics: round_metrics.RoundMetrics, wrong: float
  ) -> Iterator[str]:
    ratio = metrics.client.label_ratio
    yield (
      f'{ratio:.1%} of pseudo-labels are trained on, of which {wrong:.1%} or'
      ' more are wrong.'
    )
    if math.isnan(metrics.client.micro_threshold_accuracy):
      yield (
        'This estimate assumes that the accuracy on'
        f' {self._num_test_images} evaluated images holds for clients, too.'
      )
    if self._threshold is not None:
      yield (
        f'--confidence_threshold is {self._threshold:g}; with'
        f' {self._num_classes} classes, no confidence is below'
        f' {1 / self._num_classes:.2g}.'
      )
    yield from self._describe_server(metrics)
    yield (
      'What helps: a higher threshold, more labels, or a method for clients'
      ' that differ, such as client_prior_semifl; compare with labels alone,'
      ' --clients_per_round=0.'
    )

  def _describe_server(
    self, metrics: round_metrics.RoundMetrics
  ) -> Iterator[str]:
    if not math.isnan(metrics.server.accuracy):
      yield (
        "The server's accuracy on its own labels, while it trains, is"
        f' {metrics.server.accuracy:.1%}.'
      )

  def _warn(self, kind: str, text: str) -> None:
    if kind in self._said:
      return
    self._said.add(kind)
    # Above the progress bar, if there is one.
    with tqdm.tqdm.external_write_mode():
      logging.warning('%s: %s', self._label, text)
