# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The log of a run, as plain text."""

from collections.abc import Sequence
import contextlib
import logging
import pathlib
import types

from tff_semifl.files import durable_files
from tff_semifl.runs import progress
from tff_semifl.runs import round_metrics

# The logger that `absl.logging` writes to.
_WARNINGS = logging.getLogger('absl')


class RunLog:
  """A log file, to be used as a context manager.

  A line for the beginning and end of a run, each evaluated round and each
  warning. A resumed run appends to the file.
  """

  def __init__(
    self, path: pathlib.Path, total_rounds: int, facts: Sequence[str] = ()
  ):
    """Initializes the log; nothing is written yet.

    Args:
      path: The file, in an existing folder.
      total_rounds: The last round.
      facts: Lines to be written before the first round.
    """
    self._path = path
    self._narration = progress.Narration(total_rounds, facts)
    self._handler = None

  def __enter__(self) -> 'RunLog':
    """Opens the file.

    Raises:
      durable_files.OutputError: If it is not a regular file, or cannot be
        written.
    """
    durable_files.require_file(
      self._path, 'remove it, and the same command goes on'
    )
    with durable_files.naming(self._path):
      self._handler = _Handler(self._path, encoding='utf-8')
    self._handler.setFormatter(
      logging.Formatter(
        '%(asctime)s %(levelname)s %(message)s', '%Y-%m-%dT%H:%M:%S%z'
      )
    )
    _WARNINGS.addHandler(self._handler)
    return self

  def __exit__(
    self,
    error_type: type[BaseException] | None,
    error: BaseException | None,
    traceback: types.TracebackType | None,
  ) -> None:
    _WARNINGS.removeHandler(self._handler)
    # An error of writing would hide the pending one, perhaps the same.
    with contextlib.suppress(durable_files.OutputError, OSError):
      if error is not None:
        # An interrupt may name its signal.
        what = f'{error_type.__name__}: {error}'
        if isinstance(error, KeyboardInterrupt):
          what = str(error) or 'an interrupt'
        self._write(f'ended by {what}', logging.ERROR)
    with contextlib.suppress(OSError):
      self._handler.close()

  def start(self, first_round: int) -> None:
    """Writes the facts and the first round.

    Raises:
      durable_files.OutputError: If the file cannot be written.
    """
    for text in self._narration.start(first_round):
      self._write(text)

  def show_round(
    self, round_num: int, metrics: round_metrics.RoundMetrics
  ) -> None:
    """Writes a round.

    Raises:
      durable_files.OutputError: If the file cannot be written.
    """
    self._write(self._narration.describe_round(round_num, metrics))

  def say(self, text: str) -> None:
    """Writes a line.

    Raises:
      durable_files.OutputError: If the file cannot be written.
    """
    self._write(text)

  def _write(self, text: str, level: int = logging.INFO) -> None:
    # Not through a logger, whose level might suppress the line.
    self._handler.handle(
      logging.LogRecord('tff_semifl', level, '', 0, text, None, None)
    )


class _Handler(logging.FileHandler):
  """A logging handler that raises the errors of its file."""

  def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
    with durable_files.naming(pathlib.Path(self.baseFilename)):
      # The error that is being handled.
      raise
