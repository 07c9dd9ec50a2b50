# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Writes a report on experiments as one self-contained HTML file.

  python -m launch.report results/mine
  python -m launch.report results/labels_alone_seed* results/semifl_seed*
  python -m launch.report results/my_sweep --output_file=sweep.html

Arguments are folders of experiments, or folders with several experiments, such
as the folder of a sweep. The report of a run has learning curves, metrics with
intervals, recall and precision by class, a confusion matrix, calibration,
clients' accuracies, misclassified images, warnings, privacy, settings and the
command. The report of several runs also has means over seeds, and paired
differences from the runs of the first experiment.

The exported model is applied to the test or validation images of the run. If
these are not on this machine, the report says so and has the other sections.
By default the file is report.html in the folder of the experiment; for several
experiments, beside the folder of the first.
"""

from collections.abc import Sequence
import dataclasses
import pathlib

from tff_semifl import settings
from tff_semifl.cli import command_line
from tff_semifl.cli import parts
from tff_semifl.cli import program
from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import saved_experiment
from tff_semifl.results import report

NAME = 'report.html'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report(settings.Settings):
  """The settings of this program."""

  output_file: str | None = settings.setting(None, 'File to write.')


def main(own: Report, arguments: Sequence[str]) -> None:
  """Writes the report."""
  try:
    if not arguments:
      raise command_line.UsageError(
        'name the folders of experiments: python -m launch.report results/mine'
      )
    folders = report.find_runs([pathlib.Path(each) for each in arguments])
    first = folders[0]
    folder = first if len(folders) == 1 else first.parent
    path = parts.to_file(own.output_file or str(folder / NAME))
    with parts.writing(path):
      report.write(path, folders)
  except (
    saved_experiment.SavedExperimentError,
    metrics_table.MetricsError,
  ) as error:
    raise command_line.UsageError(str(error)) from error
  print(f'report: {path}')


if __name__ == '__main__':
  program.run(main, Report(), takes=lambda given: not given.startswith('-'))
