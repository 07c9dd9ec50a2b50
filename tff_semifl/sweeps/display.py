# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Shows the progress of a sweep on standard error."""

from collections.abc import Collection, Sequence
import contextlib
import pathlib
import signal
import sys
import time

import tqdm

from tff_semifl.files import durable_files
from tff_semifl.runs import results as results_lib
from tff_semifl.sweeps import experiments as experiments_lib

_REFRESH_SECONDS = 1
_NUM_LOG_LINES = 10
# Enough for these lines, unless they are very long.
_NUM_LOG_BYTES = 10_000


class Display:
  """A `processes.Watcher` with a bar for each run in a terminal, else lines.

  Failures are always shown.
  """

  def __init__(
    self, experiments: Sequence[experiments_lib.Experiment], *, quiet: bool
  ):
    """Initializes the display."""
    width = len(str(len(experiments)))
    self._labels = {
      experiment: f'[{number:{width}}/{len(experiments)}] {experiment.name}'
      for number, experiment in enumerate(experiments, 1)
    }
    self._quiet = quiet
    self._bars: dict[experiments_lib.Experiment, tqdm.tqdm] = {}
    self._next_refresh = 0.0

  def skip(self, experiment: experiments_lib.Experiment) -> None:
    """Says that an experiment was already complete."""
    self._say(
      experiment, f'was complete; {_describe(experiment.read_results())}'
    )

  def start(self, experiment: experiments_lib.Experiment) -> None:
    """Says that an experiment was started or restarted."""
    if self._quiet:
      return
    if not sys.stderr.isatty():
      self._say(experiment, f'started, log: {experiment.log_path}')
      return
    self._bars[experiment] = tqdm.tqdm(
      desc=self._labels[experiment],
      total=experiment.total_rounds + 1,
      initial=experiment.read_results().round_num + 1,
      bar_format='{desc} |{bar}| {n_fmt}/{total_fmt}{postfix}',
      dynamic_ncols=True,
    )

  def poll(self, experiments: Collection[experiments_lib.Experiment]) -> None:
    """Updates the bars."""
    if self._bars and time.monotonic() >= self._next_refresh:
      self._next_refresh = time.monotonic() + _REFRESH_SECONDS
      for experiment in experiments:
        self._show_results(experiment)

  def end(self, experiment: experiments_lib.Experiment, exit_code: int) -> None:
    """Shows an experiment's results, or why it failed."""
    is_shown = experiment in self._bars
    if is_shown:
      self._show_results(experiment)
      self._bars.pop(experiment).close()
    if exit_code:
      how = f'exit code {exit_code}'
      if exit_code < 0:
        how = f'signal {-exit_code} ({signal.strsignal(-exit_code)})'
      self._print(
        f'{self._labels[experiment]}: failed with {how}; the end of its log'
        f' {experiment.log_path}:\n{_read_end(experiment.log_path)}'
      )
    elif not is_shown:
      self._say(experiment, _describe(experiment.read_results()))

  def interrupt(
    self, experiments: Collection[experiments_lib.Experiment]
  ) -> None:
    """Says that experiments are ending, which may take a while."""
    for bar in self._bars.values():
      bar.close()
    self._bars.clear()
    names = ', '.join(experiment.name for experiment in experiments)
    self._print(f'\nending {names}; interrupt again to kill what runs')

  def _show_results(self, experiment: experiments_lib.Experiment) -> None:
    # Read errors that last are reported by `end`.
    with contextlib.suppress(durable_files.OutputError):
      results = experiment.read_results()
      bar = self._bars[experiment]
      bar.n = results.round_num + 1
      bar.set_postfix_str(_describe(results))

  def _say(self, experiment: experiments_lib.Experiment, text: str) -> None:
    if not self._quiet:
      self._print(f'{self._labels[experiment]}: {text}')

  def _print(self, text: str) -> None:
    # Above the bars, if any.
    tqdm.tqdm.write(text, file=sys.stderr)


def _describe(results: results_lib.Results) -> str:
  if results.round_num < 0:
    return 'no round yet'
  return (
    f'accuracy {results.accuracy:.1%} after round {results.round_num}, best'
    f' {results.best_accuracy:.1%}, {results.minutes:.1f} minutes'
  )


def _read_end(path: pathlib.Path) -> str:
  """The last lines of a log, indented."""
  with path.open('rb') as log:
    log.seek(max(0, path.stat().st_size - _NUM_LOG_BYTES))
    lines = log.read().decode(errors='replace').splitlines()
  return '\n'.join(f'  {line}' for line in lines[-_NUM_LOG_LINES:])
