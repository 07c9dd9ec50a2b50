# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Draws metrics of one or more experiments by round.

  python -m launch.plot --experiments=results/labels_alone,results/semifl \
    --output_file=curves.png,curves.svg

By default panels show the test or validation accuracy and, if clients made
pseudo-labels, the share of images with a pseudo-label and the accuracy of
pseudo-labels. --metrics chooses other columns of metrics.csv, such as the
quality of pseudo-labels in SemiFL's Figure 6:

  python -m launch.plot --experiments=results/semifl \
    --metrics=client/pseudo_accuracy,client/threshold_accuracy

Experiments of the same name, such as runs with several seeds, become one curve
of means, with a band of one standard deviation to both sides.

  python -m launch.plot --experiments=results/seed0,results/seed1 \
    --names=SemiFL,SemiFL
"""

import collections
from collections.abc import Sequence
import dataclasses
import itertools
import pathlib

from tff_semifl import settings
from tff_semifl.cli import program
from tff_semifl.experiment import metrics_table
from tff_semifl.plots import figures
from tff_semifl.results import learning_curves


def _are_figures(files: Sequence[str]) -> bool:
  suffixes = {pathlib.Path(file).suffix for file in files}
  return bool(files) and suffixes <= {'.png', '.pdf', '.svg'}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plot(settings.Settings):
  """The settings of this program."""

  experiments: tuple[str, ...] | None = settings.setting(
    None, 'Comma-separated folders of experiments. It must be given.'
  )
  names: tuple[str, ...] | None = settings.setting(
    None,
    'Comma-separated names in the legend; by default the names of the folders.',
  )
  title: str = settings.setting('', 'Title of the figure.')
  metrics: tuple[str, ...] | None = settings.setting(
    None,
    'Comma-separated columns of metrics.csv to draw; empty cells are gaps. By'
    ' default the test accuracy, and the share and the accuracy of'
    ' pseudo-labels.',
  )
  output_file: tuple[str, ...] = settings.setting(
    ('results/learning_curves.png',),
    'Files to write, separated by commas.',
    settings.Values('files that each end in .png, .pdf or .svg', _are_figures),
  )


def main(plot: Plot) -> None:
  """Draws the figure."""
  with settings.blame('experiments', plot.experiments):
    if not plot.experiments:
      raise ValueError('name the folder of at least one experiment')
  experiments = _read(plot.experiments, plot.names)
  runs = list(itertools.chain(*experiments.values()))
  with settings.blame(
    'experiments', plot.experiments, metrics_table.MetricsError
  ):
    fig = learning_curves.create_figure(
      experiments, _choose_panels(plot.metrics, runs), plot.title
    )
  with settings.blame('output_file', plot.output_file, OSError):
    figures.save(fig, plot.output_file)
  for file in plot.output_file:
    print(f'figure: {file}')


def _choose_panels(
  metrics: Sequence[str] | None, runs: Sequence[metrics_table.Metrics]
) -> Sequence[learning_curves.Panel]:
  """The panels of the chosen columns of metrics.csv, or the default panels."""
  if metrics is None:
    return learning_curves.LEARNING_CURVES
  columns = dict.fromkeys(itertools.chain(*runs))
  del columns['round']
  with settings.blame('metrics', metrics):
    if not metrics:
      raise ValueError('name at least one column')
    if len(set(metrics)) < len(metrics):
      raise ValueError('a column is given twice')
    for column in metrics:
      if column not in columns:
        raise ValueError(
          f'no experiment has a column {column}; there are {", ".join(columns)}'
        )
  return tuple(map(learning_curves.create_panel, metrics))


def _read(
  given: Sequence[str], names: Sequence[str] | None
) -> learning_curves.Experiments:
  folders = [pathlib.Path(folder) for folder in given]
  with settings.blame('experiments', given):
    if len(set(folders)) < len(folders):
      raise ValueError('a folder is given twice')
  with settings.blame('names', names):
    if names and len(names) != len(folders):
      raise ValueError(f'{len(names)} names for {len(folders)} experiments')
    shown = names or [folder.name for folder in folders]
    if not names and len(set(shown)) < len(shown):
      raise ValueError(
        f'names of folders must differ, found {", ".join(shown)}; give names,'
        ' and those of the same name are one curve'
      )
  experiments = collections.defaultdict(list)
  with settings.blame('experiments', given, metrics_table.MetricsError):
    for name, folder in zip(shown, folders, strict=True):
      file = folder / 'metrics.csv'
      metrics = metrics_table.read_metrics(file)
      if not len(metrics['round']):
        raise metrics_table.MetricsError(f'{file} has no round yet')
      experiments[name].append(metrics)
  return experiments


if __name__ == '__main__':
  program.run(main, Plot())
