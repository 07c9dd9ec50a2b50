# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The TensorBoard log of a run.

TFF's manager only appends, and flushes every two minutes: after a kill some
rounds would appear twice and others not at all. This log is rewritten from
`metrics.csv`, which has each round once, whenever a run begins or resumes.
"""

from collections.abc import Mapping, Sequence
import json
import pathlib
from typing import Any

import numpy as np
from PIL import Image
from tensorboard.plugins.hparams import api as hparams_api
import tensorflow as tf

from tff_semifl.files import durable_files
from tff_semifl.runs import metrics_table
from tff_semifl.runs import round_metrics

_Summary = tf.compat.v1.Summary


class TensorBoardLog:
  """One file of events, in the folder `logdir`."""

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
    """Writes settings, PNG files and earlier rounds, in place of earlier files.

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
      self._write(0, hparams_api.hparams_pb(values))
      for path in figures:
        self._write(0, _show_figure(path))
      for row in zip(*metrics.values(), strict=True):
        columns = dict(zip(metrics, row, strict=True))
        round_num = int(columns.pop('round'))
        if round_num < first_round:
          self._write_row(round_num, columns)
      self._writer.flush()
      for path in before:
        path.unlink()

  def show_round(
    self, round_num: int, metrics: round_metrics.RoundMetrics
  ) -> None:
    """Adds an evaluated round."""
    with durable_files.naming(self._folder):
      self._write_row(round_num, round_metrics.by_column(metrics))
      self._writer.flush()

  def _write_row(self, round_num: int, columns: Mapping[str, float]) -> None:
    values = [
      _Summary.Value(tag=name, simple_value=value)
      for name, value in columns.items()
      if not np.isnan(value)
    ]
    self._write(round_num, _Summary(value=values))

  def _write(self, step: int, summary: Any) -> None:
    with self._writer.as_default():
      tf.summary.experimental.write_raw_pb(summary.SerializeToString(), step)


def _show_figure(path: pathlib.Path) -> _Summary:
  durable_files.require_file(path, 'remove it, and it is drawn anew')
  with Image.open(path, formats=['PNG']) as image:
    width, height = image.size
  shown = _Summary.Image(
    width=width, height=height, encoded_image_string=path.read_bytes()
  )
  return _Summary(value=[_Summary.Value(tag=path.stem, image=shown)])
