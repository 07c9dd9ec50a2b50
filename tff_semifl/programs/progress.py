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
    self._label = label
    self._total_rounds = total_rounds
    self._bar = None
    self._seconds = 0.0
    self.num_rounds = 0

  def __enter__(self) -> 'Progress':
    return self

  def __exit__(self, *exception) -> None:
    if self._bar is not None:
      self._bar.close()

  def show_round(self, round_num: int, metrics: training.RoundMetrics) -> None:
    """Shows accuracy, label ratio and time left after a round."""
    accuracy = f'accuracy {metrics.test.accuracy:.1%}'
    label_ratio = f'labelled {metrics.client.label_ratio:.1%}'
    if self.num_rounds == 0 and round_num > 0:
      print(
        f'{self._label}: resumed after round {round_num - 1}', file=sys.stderr
      )
    self.num_rounds += 1
    if sys.stderr.isatty():
      if self._bar is None:
        # Only now it is known which round a resumed run goes on with.
        self._bar = tqdm.tqdm(
          desc=self._label,
          total=self._total_rounds + 1,
          initial=round_num,
          unit='round',
          dynamic_ncols=True,
        )
      self._bar.set_postfix_str(f'{accuracy}, {label_ratio}', refresh=False)
      self._bar.update()
      return
    self._seconds += metrics.seconds
    left = self._total_rounds - round_num
    seconds_left = left * self._seconds / self.num_rounds
    print(
      f'{self._label}: round {round_num}/{self._total_rounds}, {accuracy},'
      f' {label_ratio}, {tqdm.tqdm.format_interval(seconds_left)} left',
      file=sys.stderr,
      flush=True,
    )
