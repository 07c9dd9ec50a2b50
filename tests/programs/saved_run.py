# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What a run left in its folder, to be compared with what another did."""

import csv
import pathlib
from typing import NamedTuple

import numpy as np
import tensorflow as tf


class SavedRun(NamedTuple):
  """The results of a run that do not depend on how fast it was.

  Attributes:
    rows: Those of the metrics, without the seconds.
    arrays: The bytes of all numbers of the newest checkpoint, by their names.
  """

  rows: list[dict[str, str]]
  arrays: dict[str, bytes]


def read(folder: pathlib.Path) -> SavedRun:
  """Reads the folder of an experiment.

  Args:
    folder: `<output_dir>/<experiment_name>`.
  """
  with (folder / 'metrics.csv').open() as file:
    rows = list(csv.DictReader(file))
  for row in rows:
    del row['seconds']
  newest = max(
    folder.glob('checkpoints/program_state_*'),
    key=lambda path: int(path.name.split('_')[-1]),
  )
  reader = tf.train.load_checkpoint(str(newest / 'variables' / 'variables'))
  return SavedRun(
    rows,
    {
      name: np.asarray(reader.get_tensor(name)).tobytes()
      for name in reader.get_variable_to_shape_map()
      # How the numbers are put together.
      if name != '_CHECKPOINTABLE_OBJECT_GRAPH'
    },
  )
