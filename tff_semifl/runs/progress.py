# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Progress of training: in the terminal, in `log.txt` and as JSON lines."""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import datetime
import json
import logging
import math
import pathlib
import sys

import tqdm

from tff_semifl.files import durable_files
from tff_semifl.runs import round_metrics

# The fewest rounds to tell the time left by.
_TIMED_ROUNDS = 2


class Narration:
  """Formats the progress of a run as lines; facts come before round 0."""

  def __init__(self, total_rounds: int, facts: Sequence[str] = ()):
    self._total_rounds = total_rounds
    self._facts = facts
    self._last_round = -1
    self._is_compiled = False
    self._num_timed = 0
    self._seconds = 0.0
    self._selects = False

  def start(self, first_round: int) -> list[str]:
    """Lines before the first round to run; past the last one if complete."""
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


class Display(contextlib.AbstractContextManager):
  """Lines on standard error; in a terminal, rounds update one line."""

  def __init__(self, label: str, total_rounds: int):
    self._label = label
    self._total_rounds = total_rounds
    self._bar = None

  def __exit__(self, *exception) -> None:
    if self._bar is not None:
      self._bar.close()

  def show(self, text: str, next_round: int | None = None) -> None:
    """Shows a line, or that of the round before `next_round`."""
    text = f'{self._label}: {text}'
    if next_round is None or not sys.stderr.isatty():
      tqdm.tqdm.write(text, file=sys.stderr)
      return
    if self._bar is None:
      self._bar = tqdm.tqdm(
        desc=text,
        total=self._total_rounds + 1,
        initial=next_round,
        # The description already has the number of rounds and the time left.
        bar_format='{desc} |{bar}|',
        dynamic_ncols=True,
      )
    self._bar.n = next_round
    self._bar.set_description_str(text)


def print_json(
  experiment_name: str, round_num: int, metrics: round_metrics.RoundMetrics
) -> None:
  """Prints a round as a line of JSON on standard error, for log collectors.

  The time is UTC in ISO 8601. Metrics are named as the columns of
  `metrics.csv`, and null if not measured.
  """
  line = {
    'time': datetime.datetime.now(datetime.UTC).isoformat(),
    'experiment': experiment_name,
    'round': round_num,
    'metrics': {
      name: None if math.isnan(value) else value
      for name, value in round_metrics.by_column(metrics).items()
    },
  }
  print(json.dumps(line), file=sys.stderr, flush=True)


@contextlib.contextmanager
def open_log(path: pathlib.Path) -> Iterator[Callable[[str], None]]:
  """Yields a function that adds lines to a file with the warnings of a run."""
  durable_files.require_file(path, 'remove it, and the same command goes on')
  with durable_files.naming(path):
    handler = _Handler(path, encoding='utf-8')
  handler.setFormatter(
    logging.Formatter(
      '%(asctime)s %(levelname)s %(message)s', '%Y-%m-%dT%H:%M:%S%z'
    )
  )

  def write(text, level=logging.INFO):
    # Not through a logger, whose level might suppress the line.
    handler.handle(logging.LogRecord('', level, '', 0, text, None, None))

  # The logger that `absl.logging` writes to.
  logger = logging.getLogger('absl')
  logger.addHandler(handler)
  try:
    yield write
  except BaseException as error:
    what = f'{type(error).__name__}: {error}'
    if isinstance(error, KeyboardInterrupt):
      # An interrupt may name its signal.
      what = str(error) or 'an interrupt'
    # An error of writing would hide the pending one, perhaps the same.
    with contextlib.suppress(durable_files.OutputError):
      write(f'ended by {what}', logging.ERROR)
    raise
  finally:
    logger.removeHandler(handler)
    with contextlib.suppress(OSError):
      handler.close()


class _Handler(logging.FileHandler):
  """A logging handler that raises the errors of its file."""

  def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
    with durable_files.naming(pathlib.Path(self.baseFilename)):
      # The error that is being handled.
      raise
