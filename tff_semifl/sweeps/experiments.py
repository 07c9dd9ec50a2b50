# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The experiments of a sweep: entries times seeds."""

import dataclasses
import pathlib

from tff_semifl.runs import outputs
from tff_semifl.runs import results as results_lib
from tff_semifl.sweeps import entries
from tff_semifl.sweeps import processes


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment(processes.Job):
  """An entry and a seed.

  Attributes:
    entry: The entry.
    folder: Where its results are.
    total_rounds: The round that comes last.
    task: The task with its settings: those with the same have the same test
      images.
    validates: Whether it is evaluated on a validation split.
  """

  entry: entries.Entry
  folder: pathlib.Path
  total_rounds: int
  task: str = ''
  validates: bool = False

  def read_results(self) -> results_lib.Results:
    """Returns what it has reached so far.

    Raises:
      durable_files.OutputError: If the folder holds something else.
    """
    return results_lib.read_results(self.folder / 'metrics.csv')

  def read_validation(self) -> results_lib.Validation:
    """Returns what it has reached so far on its validation split.

    Raises:
      durable_files.OutputError: If the folder holds something else.
    """
    return results_lib.read_validation(self.folder / 'metrics.csv')

  def is_complete(self) -> bool:
    """Returns whether all rounds were run and the model was exported.

    Raises:
      durable_files.OutputError: If the folder holds something else.
    """
    return self.read_results().round_num >= self.total_rounds and bool(
      outputs.find_models(self.folder / 'export')
    )
