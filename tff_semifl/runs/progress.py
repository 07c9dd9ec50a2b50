# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Progress of training, shown on standard error."""

from collections.abc import Sequence
import math
import sys
from typing import Protocol

import tqdm

from tff_semifl.runs import round_metrics

# The fewest rounds to tell the time left by.
_TIMED_ROUNDS = 2


class Narration:
  """Formats the progress of a run as lines."""

  def __init__(self, total_rounds: int, facts: Sequence[str] = ()):
    self._total_rounds = total_rounds
    self._facts = facts
    self._last_round = -1
    self._is_compiled = False
    self._num_timed = 0
    self._seconds = 0.0
    self._selects = False

  def start(self, first_round: int) -> list[str]:
    """Lines on the run's state and first round.

    Args:
      first_round: The first round to run, which includes compilation; later
        than `total_rounds` if the run is complete.
    """
    if first_round > self._total_rounds:
      return [f'was complete after round {first_round - 1}; nothing to train']
    self._last_round = first_round - 1
    resumed = [f'resumed after round {first_round - 1}'] if first_round else []
    return [
      *resumed,
      *self._facts,
      f'compiling and running round {first_round}',
    ]

  def describe_round(
    self, round_num: int, metrics: round_metrics.RoundMetrics
  ) -> str:
    """A line with the accuracy, and with more if there is more to say.

    The label ratio, unless clients have trained on all pseudo-labels in all
    rounds; clients that were rejected, if no update is left; and the time left,
    once two rounds with clients are timed without compilation.

    Args:
      round_num: The latest round.
      metrics: The round's metrics; `seconds` is the time of all rounds since
        the last call.
    """
    if self._is_compiled:
      self._num_timed += round_num - self._last_round
      self._seconds += metrics.seconds
    # Round 0, without clients, compiles the server's part alone.
    self._is_compiled = round_num > 0
    self._last_round = round_num
    kind = 'validation accuracy' if metrics.validation else 'accuracy'
    text = (
      f'round {round_num}/{self._total_rounds}, {kind}'
      f' {metrics.evaluation.accuracy:.1%}'
    )
    client = metrics.client
    self._selects |= client.label_ratio < 1
    if self._selects and not math.isnan(client.label_ratio):
      text += f', pseudo-labeled {client.label_ratio:.1%}'
    if client.num_rejected > 0 and not client.num_participating:
      text += f', no update counts ({client.num_rejected:.0f} clients rejected)'
    if self._num_timed >= _TIMED_ROUNDS:
      left = (self._total_rounds - round_num) * self._seconds / self._num_timed
      text += f', {tqdm.tqdm.format_interval(left)} left'
    return text


class Watcher(Protocol):
  """An observer of training."""

  def start(self, first_round: int) -> None:
    """Called before the first round, which includes compilation.

    Args:
      first_round: The round; later than the last one if the run is complete.
    """

  def show_round(
    self, round_num: int, metrics: round_metrics.RoundMetrics
  ) -> None:
    """Called after an evaluated round.

    Args:
      round_num: The round.
      metrics: Its metrics; `seconds` is the time of all rounds since the last
        call.
    """


class Progress:
  """A display of progress, to be used as a context manager.

  In a terminal, one line that is updated; elsewhere, a line for each evaluated
  round.
  """

  def __init__(self, label: str, total_rounds: int, facts: Sequence[str] = ()):
    """Initializes the display.

    Args:
      label: Name of the run, which begins each line.
      total_rounds: The last round.
      facts: Lines to be shown before the first round.
    """
    self._label = label
    self._total_rounds = total_rounds
    self._narration = Narration(total_rounds, facts)
    self._bar = None

  def __enter__(self) -> 'Progress':
    return self

  def __exit__(self, *exception) -> None:
    if self._bar is not None:
      self._bar.close()

  def start(self, first_round: int) -> None:
    """Shows the first round."""
    *before, last = self._narration.start(first_round)
    for text in before:
      self._print(text)
    if first_round > self._total_rounds or not sys.stderr.isatty():
      self._print(last)
      return
    self._bar = tqdm.tqdm(
      desc=f'{self._label}: {last}',
      total=self._total_rounds + 1,
      initial=first_round,
      # The description already has the number of rounds and the time left.
      bar_format='{desc} |{bar}|',
      dynamic_ncols=True,
    )

  def show_round(
    self, round_num: int, metrics: round_metrics.RoundMetrics
  ) -> None:
    """Shows a round."""
    text = self._narration.describe_round(round_num, metrics)
    if self._bar is None:
      self._print(text)
    else:
      self._bar.n = round_num + 1
      self._bar.set_description_str(f'{self._label}: {text}')

  def say(self, text: str) -> None:
    """Shows a line."""
    if self._bar is None:
      self._print(text)
    else:
      self._bar.write(f'{self._label}: {text}', file=sys.stderr)

  def _print(self, text: str) -> None:
    print(f'{self._label}: {text}', file=sys.stderr, flush=True)
