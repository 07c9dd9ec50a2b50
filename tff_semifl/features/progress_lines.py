# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Progress of a long computation, in a line every few seconds."""

from collections.abc import Callable
import sys
import time

from absl import flags
import tqdm

Say = Callable[[str], None]


def to_stderr(line: str) -> None:
  """Prints a line on standard error, unless absl's --verbosity is below 0."""
  verbosity = flags.FLAGS['verbosity']
  if not (verbosity.present and verbosity.value < 0):
    print(line, file=sys.stderr, flush=True)


class ProgressLines:
  """Reports the number of images done, their rate and the time left."""

  def __init__(
    self,
    total: int,
    say: Say,
    *,
    what: str = 'features',
    num_before: int = 0,
    seconds_between: float = 5.0,
    clock: Callable[[], float] = time.monotonic,
  ):
    """Initializes the progress.

    Args:
      clock: Returns the time in seconds.
    """
    self._total = total
    self._say = say
    self._what = what
    self._done = self._num_before = num_before
    self._seconds_between = seconds_between
    self._clock = clock
    self._start = self._last = clock()

  def advance(self, number: int) -> None:
    """Counts images as done, and reports progress if a line is due."""
    self._done += number
    now = self._clock()
    if now - self._last < self._seconds_between or self._done == self._total:
      return
    self._last = now
    rate = self.rate()
    left = tqdm.tqdm.format_interval((self._total - self._done) / rate)
    self._say(
      f'{self._what}: {self._done:,} of {self._total:,} images,'
      f' {_show(rate)} images/s, {left} left'
    )

  def finish(self) -> None:
    """Reports how many images were done in how much time."""
    seconds = tqdm.tqdm.format_interval(self._clock() - self._start)
    self._say(
      f'{self._what}: {self._done - self._num_before:,} images in {seconds},'
      f' {_show(self.rate())} images/s'
    )

  def rate(self) -> float:
    """Images per second since the start of this object."""
    seconds = max(self._clock() - self._start, 1e-9)
    return max(self._done - self._num_before, 1e-9) / seconds


def _show(rate: float) -> str:
  return f'{rate:,.0f}' if rate >= 10 else f'{rate:.2g}'
