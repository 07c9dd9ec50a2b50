# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Progress of training: terminal, `log.txt`, JSON lines and TensorBoard."""

from collections.abc import Callable, Iterator, Mapping, Sequence
import contextlib
import datetime
import json
import logging
import math
import pathlib
import sys
from typing import Any, TypeVar

from absl import flags
from tensorboard.plugins.hparams import api as hparams_api
import tensorflow as tf
import tqdm

from tff_semifl.experiment import metrics_table
from tff_semifl.files import durable_files

_T = TypeVar('_T')


def is_quiet() -> bool:
  """Whether absl's --verbosity hides progress, as a number below 0 does."""
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
  """One line with accuracy, and the ratio of pseudo-labels trained on."""
  kind = 'validation accuracy' if metrics.validation else 'accuracy'
  accuracy = metrics.evaluation.accuracy
  text = f'round {round_num}/{total_rounds}, {kind} {accuracy:.1%}'
  # False for NaN.
  if metrics.client.label_ratio < 1:
    text += f', pseudo-labeled {metrics.client.label_ratio:.1%}'
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
    """Shows a line; with `next_round`, the line of the round before."""
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


def print_json(
  experiment_name: str, round_num: int, metrics: metrics_table.RoundMetrics
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
      for name, value in metrics_table.by_column(metrics).items()
    },
  }
  print(json.dumps(line), file=sys.stderr, flush=True)


@contextlib.contextmanager
def open_log(path: pathlib.Path) -> Iterator[Callable[[str], None]]:
  """Opens a log of lines and warnings; yields a function that adds a line."""
  durable_files.require_file(path, 'remove it, and the same command goes on')
  with durable_files.naming(path):
    handler = LogHandler(path, encoding='utf-8')
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
    # An error from writing would hide the pending error.
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
      # Raises the error that is being handled.
      raise


class TensorBoardLog:
  """A TensorBoard event file, rewritten whenever a run begins or resumes.

  TFF's manager only appends, and flushes every two minutes: after a kill some
  rounds would appear twice and other rounds not at all. `metrics.csv` has each
  round once.
  """

  def __init__(self, folder: pathlib.Path):
    self._folder = folder
    self._writer = None

  def start(
    self,
    first_round: int,
    metrics: metrics_table.Metrics,
    hparams: Mapping[str, Any],
    figures: Sequence[pathlib.Path],
  ) -> None:
    """Replaces earlier files by one with settings, figures and past rounds.

    Settings that are None are left out.
    """
    values = {
      name: value
      if isinstance(value, bool | int | float | str)
      else json.dumps(value)
      for name, value in hparams.items()
      if value is not None
    }
    with durable_files.naming(self._folder):
      before = [*self._folder.glob('events.out.tfevents.*')]
      self._writer = tf.summary.create_file_writer(str(self._folder))
      with self._writer.as_default(step=0):
        hparams_api.hparams(values)
        for path in figures:
          durable_files.require_file(path, 'remove it, and it is drawn anew')
          image = tf.io.decode_png(path.read_bytes(), channels=3)
          tf.summary.image(path.stem, image[tf.newaxis])
      for row in zip(*metrics.values(), strict=True):
        columns = dict(zip(metrics, row, strict=True))
        round_num = int(columns.pop('round'))
        if round_num < first_round:
          self._write(round_num, columns)
      self._writer.flush()
      for path in before:
        path.unlink()

  def show_round(
    self, round_num: int, metrics: metrics_table.RoundMetrics
  ) -> None:
    with durable_files.naming(self._folder):
      self._write(round_num, metrics_table.by_column(metrics))
      self._writer.flush()

  def _write(self, round_num: int, columns: Mapping[str, float]) -> None:
    with self._writer.as_default(round_num):
      for name, value in columns.items():
        if not math.isnan(value):
          tf.summary.scalar(name, value)
