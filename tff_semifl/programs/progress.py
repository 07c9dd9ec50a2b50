# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Telling whoever waits how training goes."""

import sys

import tqdm

from tff_semifl.programs import training


class Progress:
  """A bar in a terminal, a line a round elsewhere; on standard error.

  To be used as a context manager.

  Attributes:
    num_rounds: How many rounds were shown.
  """

  def __init__(self, label: str, total_rounds: int):
    """Initialises the progress.

    Args:
      label: What is being trained.
      total_rounds: The round that comes last.
    """
    self.num_rounds = 0
    self._label = label
    self._total_rounds = total_rounds
    self._bar = None
    self._first_seconds = 0.0
    self._later_seconds = 0.0

  def __enter__(self) -> 'Progress':
    return self

  def __exit__(self, *exception) -> None:
    if self._bar is not None:
      self._bar.close()

  def start(self, first_round: int) -> None:
    """Says which round comes first; it is also the one that is compiled."""
    if first_round > self._total_rounds:
      return
    if first_round > 0:
      self._print(f'resumed after round {first_round - 1}')
    if sys.stderr.isatty():
      self._bar = tqdm.tqdm(
        desc=self._label,
        total=self._total_rounds + 1,
        initial=first_round,
        # The time left is shown as ours, in what follows the bar.
        bar_format='{desc} |{bar}| {n_fmt}/{total_fmt}{postfix}',
        dynamic_ncols=True,
      )
      self._bar.set_postfix_str('compiling')
    else:
      self._print(f'compiling and running round {first_round}')

  def show_round(self, round_num: int, metrics: training.RoundMetrics) -> None:
    """Shows accuracy, label ratio and time left after a round."""
    if self.num_rounds == 0:
      self._first_seconds = metrics.seconds
    else:
      self._later_seconds += metrics.seconds
    self.num_rounds += 1
    # The first round is compiled too, and says little of the others.
    seconds = self._first_seconds
    if self.num_rounds > 1:
      seconds = self._later_seconds / (self.num_rounds - 1)
    left = tqdm.tqdm.format_interval((self._total_rounds - round_num) * seconds)
    text = (
      f'accuracy {metrics.test.accuracy:.1%}, labelled'
      f' {metrics.client.label_ratio:.1%}, {left} left'
    )
    if self._bar is None:
      self._print(f'round {round_num}/{self._total_rounds}, {text}')
    else:
      self._bar.set_postfix_str(text, refresh=False)
      self._bar.update()

  def _print(self, text: str) -> None:
    print(f'{self._label}: {text}', file=sys.stderr, flush=True)
