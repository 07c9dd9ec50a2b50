# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Telling whoever waits how training goes."""

import math
import sys

import tqdm

from tff_semifl.programs import round_metrics


class Progress:
  """One line that changes in a terminal, a line a round elsewhere.

  Both on standard error. To be used as a context manager.
  """

  def __init__(self, label: str, total_rounds: int):
    """Initialises the progress.

    Args:
      label: What is being trained.
      total_rounds: The round that comes last.
    """
    self._label = label
    self._total_rounds = total_rounds
    self._bar = None
    self._last_round = -1
    self._is_compiled = False
    self._num_later_rounds = 0
    self._later_seconds = 0.0

  def __enter__(self) -> 'Progress':
    return self

  def __exit__(self, *exception) -> None:
    if self._bar is not None:
      self._bar.close()

  def start(self, first_round: int) -> None:
    """Says which round comes first; it is also the one that is compiled."""
    if first_round > self._total_rounds:
      self._print(
        f'was complete after round {first_round - 1}; nothing to train'
      )
      return
    self._last_round = first_round - 1
    if first_round > 0:
      self._print(f'resumed after round {first_round - 1}')
    text = f'compiling and running round {first_round}'
    if not sys.stderr.isatty():
      self._print(text)
      return
    self._bar = tqdm.tqdm(
      desc=f'{self._label}: {text}',
      total=self._total_rounds + 1,
      initial=first_round,
      # How many there are, and the time left, are in the text.
      bar_format='{desc} |{bar}|',
      dynamic_ncols=True,
    )

  def show_round(
    self, round_num: int, metrics: round_metrics.RoundMetrics
  ) -> None:
    """Shows accuracy, label ratio if any image was labeled, and time left.

    Args:
      round_num: The last round.
      metrics: Its metrics; its seconds are those of all rounds since the last
        call.
    """
    num_rounds = round_num - self._last_round
    # The first round is compiled too, and says little of the others.
    seconds_per_round = metrics.seconds / num_rounds
    if self._is_compiled:
      self._num_later_rounds += num_rounds
      self._later_seconds += metrics.seconds
      seconds_per_round = self._later_seconds / self._num_later_rounds
    self._is_compiled = True
    self._last_round = round_num
    left = tqdm.tqdm.format_interval(
      (self._total_rounds - round_num) * seconds_per_round
    )
    text = (
      f'round {round_num}/{self._total_rounds}, accuracy'
      f' {metrics.test.accuracy:.1%}'
    )
    if not math.isnan(metrics.client.label_ratio):
      text += f', labelled {metrics.client.label_ratio:.1%}'
    text += f', {left} left'
    if self._bar is None:
      self._print(text)
    else:
      self._bar.n = round_num + 1
      self._bar.set_description_str(f'{self._label}: {text}')

  def _print(self, text: str) -> None:
    print(f'{self._label}: {text}', file=sys.stderr, flush=True)
