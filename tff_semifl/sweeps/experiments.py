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
  """A job that trains an entry with a seed.

  Attributes:
    entry: The entry.
    folder: The folder of the results.
    total_rounds: The number of the last round.
    task: The task with its settings; equal tasks have equal test images.
    validates: Whether the run evaluates on a validation split.
  """

  entry: entries.Entry
  folder: pathlib.Path
  total_rounds: int
  task: str = ''
  validates: bool = False

  def read_results(self) -> results_lib.Results:
    """The latest results."""
    return results_lib.read_results(self.folder / 'metrics.csv')

  def read_validation(self) -> results_lib.Validation:
    """The latest results on the validation split."""
    return results_lib.read_validation(self.folder / 'metrics.csv')

  def is_complete(self) -> bool:
    """Whether all rounds ran and the model was exported."""
    return self.read_results().round_num >= self.total_rounds and bool(
      outputs.find_models(self.folder / 'export')
    )
