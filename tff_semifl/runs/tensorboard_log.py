# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The TensorBoard log of a run.

TFF's manager only appends, several rounds at a time, so that after a kill some
rounds would appear twice and others not at all. This log is rewritten from
`metrics.csv`, which has each round once, whenever a run begins or resumes.
"""

from collections.abc import Mapping, Sequence
import json
import pathlib
import socket
import time
from typing import Any

import numpy as np
from PIL import Image
from tensorboard.plugins.hparams import api as hparams_api
import tensorflow as tf

from tff_semifl.files import durable_files
from tff_semifl.runs import metrics_table
from tff_semifl.runs import round_metrics

# The prefix by which TensorBoard recognizes its files.
_PREFIX = 'events.out.tfevents'


class TensorBoardLog:
  """The log of a run, one file that TensorBoard reads.

  The file is never read here: one that a kill left incomplete is replaced at
  the next start.
  """

  def __init__(
    self,
    folder: pathlib.Path,
    *,
    metrics_file: pathlib.Path,
    hparams: Mapping[str, Any],
    figures: Sequence[pathlib.Path],
  ):
    """Initializes the log; nothing is written yet.

    Args:
      folder: The folder of the log.
      metrics_file: The table of metrics.
      hparams: Hyperparameters of the run; those that are None are left out.
      figures: PNG files to show under their names.
    """
    self._folder = folder
    self._metrics_file = metrics_file
    self._hparams = hparams
    self._figures = figures
    self._writer = None

  def start(self, first_round: int) -> None:
    """Writes a new log of the table's rounds, and removes earlier files.

    Raises:
      durable_files.OutputError: If the log cannot be written.
    """
    with durable_files.naming(self._folder):
      self._folder.mkdir(exist_ok=True)
      before = list(self._folder.glob(f'{_PREFIX}.*'))
      # TensorBoard reads files in the order of their names.
      path = self._folder / f'{_PREFIX}.{time.time_ns()}.{socket.gethostname()}'
      try:
        self._writer = tf.io.TFRecordWriter(str(path))
        self._write_start(first_round)
      except Exception:
        # Keeps the earlier files until the new one is complete.
        path.unlink(missing_ok=True)
        raise
      for file in before:
        file.unlink()

  def show_round(
    self, round_num: int, metrics: round_metrics.RoundMetrics
  ) -> None:
    """Adds a round that is in the table.

    Raises:
      durable_files.OutputError: If the log cannot be written.
    """
    del metrics  # Read from the table, where they have names.
    with durable_files.naming(self._folder):
      self._write_rounds(round_num, round_num + 1)
      self._writer.flush()

  def _write_start(self, first_round: int) -> None:
    session_log = tf.compat.v1.SessionLog
    self._write(file_version='brain.Event:2')
    # This event makes a running TensorBoard discard earlier events.
    self._write(session_log=session_log(status=session_log.START))
    self._write(summary=_describe_hparams(self._hparams))
    for fig in self._figures:
      self._write(summary=_show_figure(fig))
    self._write_rounds(0, first_round)
    self._writer.flush()

  def _write_rounds(self, start: int, stop: int) -> None:
    columns = dict(metrics_table.read_metrics(self._metrics_file))
    rounds = columns.pop('round')
    [indices] = np.nonzero((rounds >= start) & (rounds < stop))
    # Wall times as if rounds had followed each other without a pause, and the
    # last had ended now.
    seconds = np.nan_to_num(columns.get('seconds', np.zeros(len(rounds))))
    ends = time.time() - seconds[indices].sum() + seconds[indices].cumsum()
    for index, end in zip(indices, ends, strict=True):
      self._write(
        wall_time=end,
        step=int(rounds[index]),
        summary=tf.compat.v1.Summary(
          value=[
            tf.compat.v1.Summary.Value(tag=name, simple_value=values[index])
            for name, values in columns.items()
            if not np.isnan(values[index])
          ]
        ),
      )

  def _write(self, **fields: Any) -> None:
    event = tf.compat.v1.Event(**({'wall_time': time.time()} | fields))
    self._writer.write(event.SerializeToString())


def _describe_hparams(hparams: Mapping[str, Any]) -> tf.compat.v1.Summary:
  described = hparams_api.hparams_pb(
    {
      name: value
      if isinstance(value, bool | int | float | str)
      else json.dumps(value)
      for name, value in hparams.items()
      if value is not None
    }
  )
  # TensorBoard has its own class for the same protocol buffer.
  return tf.compat.v1.Summary.FromString(described.SerializeToString())


def _show_figure(fig: pathlib.Path) -> tf.compat.v1.Summary:
  durable_files.require_file(fig, 'remove it, and it is drawn anew')
  with Image.open(fig, formats=['PNG']) as image:
    width, height = image.size
  return tf.compat.v1.Summary(
    value=[
      tf.compat.v1.Summary.Value(
        tag=fig.stem,
        image=tf.compat.v1.Summary.Image(
          width=width,
          height=height,
          encoded_image_string=fig.read_bytes(),
        ),
      )
    ]
  )
