# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Shows the progress of training in the terminal, `log.txt` and TensorBoard."""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import logging
import math
import pathlib
import sys
from typing import TypeVar

from absl import flags
import tensorflow as tf
import tensorflow_federated as tff
import tqdm

from tff_semifl.experiment import metrics_table
from tff_semifl.files import durable_files

_T = TypeVar('_T')


def is_quiet() -> bool:
  """Whether progress is hidden, by a --verbosity of absl below 0."""
  flag = flags.FLAGS['verbosity']
  return bool(flag.present) and flag.value < 0


def say(line: str) -> None:
  """Prints a line on standard error, unless progress is hidden."""
  if not is_quiet():
    print(line, file=sys.stderr, flush=True)


def follow(label: str, steps: Sequence[_T]) -> Iterator[_T]:
  """Yields steps; in a terminal, one line shows how many are done."""
  hides = len(steps) < 2 or is_quiet() or not sys.stderr.isatty()
  yield from tqdm.tqdm(steps, label, disable=hides, leave=False)


def describe_round(
  round_num: int, total_rounds: int, metrics: metrics_table.RoundMetrics
) -> str:
  """One line with a round's accuracy and ratio of used pseudo-labels."""
  kind = 'validation accuracy' if metrics.validation else 'accuracy'
  accuracy = metrics.evaluation.accuracy
  text = f'round {round_num}/{total_rounds}, {kind} {accuracy:.1%}'
  # False for NaN.
  if metrics.client.label_ratio < 1:
    text += f', pseudo-labeled {metrics.client.label_ratio:.1%}'
  return text


class Display(contextlib.AbstractContextManager):
  """Shows lines on standard error; in a terminal, rounds update one line."""

  def __init__(self, label: str, total_rounds: int):
    self._label = label
    self._total_rounds = total_rounds
    self._bar = None

  def __exit__(self, *exception) -> None:
    if self._bar is not None:
      self._bar.close()

  def show(self, text: str, next_round: int | None = None) -> None:
    """Prints a line; in a terminal, moves the bar to `next_round` instead."""
    text = f'{self._label}: {text}'
    if next_round is None or not sys.stderr.isatty():
      tqdm.tqdm.write(text, file=sys.stderr)
      return
    if self._bar is None:
      self._bar = tqdm.tqdm(
        desc=text,
        total=self._total_rounds + 1,
        initial=next_round,
        bar_format='{desc} |{bar}| {remaining} left',
        dynamic_ncols=True,
      )
    self._bar.set_description_str(text, refresh=False)
    self._bar.update(next_round - self._bar.n)
    self._bar.refresh()


@contextlib.contextmanager
def open_log(path: pathlib.Path) -> Iterator[Callable[[str], None]]:
  """Opens a log of lines and warnings; yields a function that adds a line."""
  with durable_files.naming(path):
    handler = LogHandler(path, encoding='utf-8')
  handler.setFormatter(
    logging.Formatter(
      '%(asctime)s %(levelname)s %(message)s', '%Y-%m-%dT%H:%M:%S%z'
    )
  )

  def write(text, level=logging.INFO):
    # A logger's level might suppress the line.
    handler.handle(logging.LogRecord('', level, '', 0, text, None, None))

  # The logger of `absl.logging`.
  logger = logging.getLogger('absl')
  logger.addHandler(handler)
  try:
    yield write
  except BaseException as error:
    what = f'{type(error).__name__}: {error}'
    if isinstance(error, KeyboardInterrupt):
      # An interrupt may name its signal.
      what = str(error) or 'an interrupt'
    # An error in writing would hide the pending error.
    with contextlib.suppress(durable_files.OutputError):
      write(f'ended by {what}', logging.ERROR)
    raise
  finally:
    logger.removeHandler(handler)
    with contextlib.suppress(OSError):
      handler.close()


class LogHandler(logging.FileHandler):
  """A logging handler that raises errors from writing the file."""

  def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
    with durable_files.naming(pathlib.Path(self.baseFilename)):
      # The error that is being handled.
      raise


class TensorBoardLog(tff.program.ReleaseManager):
  """Writes the measured metrics of evaluated rounds for TensorBoard.

  TFF's manager for TensorBoard also writes NaN, and flushes every two minutes.
  """

  def __init__(self, folder: pathlib.Path):
    self._folder = folder
    with durable_files.naming(folder):
      self._writer = tf.summary.create_file_writer(str(folder))

  async def release(self, value: metrics_table.RoundMetrics, key: int) -> None:
    with durable_files.naming(self._folder), self._writer.as_default(key):
      for name, number in metrics_table.by_column(value).items():
        if not math.isnan(number):
          tf.summary.scalar(name, number)
      self._writer.flush()
