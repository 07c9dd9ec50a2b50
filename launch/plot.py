# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Draws metrics of one or more experiments by round.

  python -m launch.plot --experiments=results/labels_alone,results/semifl \
    --output_file=curves.png,curves.svg

By default this draws the test accuracy and, if clients made pseudo-labels, the
share of images labeled and the accuracy of these labels, to
results/learning_curves.png unless --pseudo_label_files is given. These files
show the quality of pseudo-labels in more detail, as in Figure 6 of SemiFL's
paper:

  python -m launch.plot --experiments=results/semifl \
    --pseudo_label_files=pseudo_labels.pdf

Any columns of metrics.csv can be drawn, each in a panel, such as the weight
diversity of Figure 4 of Zhang et al.:

  python -m launch.plot --experiments=results/federated,results/two_groups \
    --metrics=client/weight_diversity,client/relative_weight_diversity

Experiments of the same name, such as runs with several seeds, are drawn as one
curve: their mean, in a band of one standard deviation to both sides.

  python -m launch.plot --experiments=results/seed0,results/seed1 \
    --names=SemiFL,SemiFL

Last values of other experiments, such as centralized FixMatch, can be drawn as
horizontal lines:

  python -m launch.plot --experiments=results/labels_alone,results/semifl \
    --references=results/fixmatch

`launch.show_partition` draws the partition of images among clients.
"""

import collections
from collections.abc import Sequence
import itertools
import pathlib

from absl import flags

from tff_semifl.cli import output_flag
from tff_semifl.cli import program
from tff_semifl.experiment import metrics_table
from tff_semifl.plots import figures
from tff_semifl.results import learning_curves

_EXPERIMENTS = flags.DEFINE_list(
  'experiments', None, 'Comma-separated folders of experiments.'
)
_NAMES = flags.DEFINE_list(
  'names',
  None,
  'Comma-separated names in the legend; by default those of'
  ' their folders. Experiments of the same name are drawn as one curve, with'
  ' mean and standard deviation.',
)
_REFERENCES = flags.DEFINE_list(
  'references',
  [],
  'Comma-separated folders of experiments whose values after the last round are'
  ' drawn as horizontal lines.',
)
_REFERENCE_NAMES = flags.DEFINE_list(
  'reference_names',
  None,
  'Names of --references in the legend, as --names are of --experiments.',
)
_TITLE = flags.DEFINE_string('title', '', 'Title of the figures.')
_PSEUDO_LABEL_FILES = flags.DEFINE_list(
  'pseudo_label_files',
  None,
  'Comma-separated files for the quality of pseudo-labels; the suffix of each'
  ' chooses PNG, PDF or SVG. By default it is not drawn.',
)

_METRICS = flags.DEFINE_list(
  'metrics',
  None,
  'Comma-separated columns of metrics.csv to draw in --output_file; empty cells'
  ' are gaps. By default the test accuracy, and the share and the accuracy of'
  ' pseudo-labels.',
)

flags.adopt_module_key_flags(output_flag)
output_flag.require_figures(_PSEUDO_LABEL_FILES)


def main() -> None:
  """Runs the program, after flags were parsed."""
  # Not marked as required: absl would require the flag of every program that
  # imports this module.
  with program.blame(_EXPERIMENTS, ValueError):
    if not _EXPERIMENTS.value:
      raise ValueError('name the folder of at least one experiment')
  experiments = _read(_EXPERIMENTS, _NAMES)
  references = _read(_REFERENCES, _REFERENCE_NAMES)
  chosen = _choose_panels(experiments)
  curve_files = None
  if output_flag.OUTPUT_FILE.value or _PSEUDO_LABEL_FILES.value is None:
    curve_files = output_flag.figures('results/learning_curves.png')
  elif _METRICS.value is not None:
    with program.blame(_METRICS, ValueError):
      raise ValueError('give --output_file too, or no --pseudo_label_files')
  for flag, files, panels in (
    (output_flag.OUTPUT_FILE, curve_files, chosen),
    (
      _PSEUDO_LABEL_FILES,
      _PSEUDO_LABEL_FILES.value,
      learning_curves.PSEUDO_LABEL_QUALITY,
    ),
  ):
    if files is None:
      continue
    with program.blame(_EXPERIMENTS, metrics_table.MetricsError):
      fig = learning_curves.create_figure(
        experiments, panels, _TITLE.value, references
      )
    with program.blame(flag, OSError):
      figures.save(fig, files)
    for file in files:
      print(f'figure: {file}')


def _choose_panels(
  experiments: learning_curves.Experiments,
) -> Sequence[learning_curves.Panel]:
  if _METRICS.value is None:
    return learning_curves.LEARNING_CURVES
  runs = itertools.chain(*experiments.values())
  columns = {
    column: None for run in runs for column in run if column != 'round'
  }
  with program.blame(_METRICS, ValueError):
    if not _METRICS.value:
      raise ValueError('name at least one column')
    if len(set(_METRICS.value)) < len(_METRICS.value):
      raise ValueError('a column is given twice')
    for column in _METRICS.value:
      if column not in columns:
        raise ValueError(
          f'no experiment has a column {column}; there are {", ".join(columns)}'
        )
  return tuple(map(learning_curves.create_panel, _METRICS.value))


def _read(
  folders_flag: flags.FlagHolder, names_flag: flags.FlagHolder
) -> learning_curves.Experiments:
  """Reads the metrics of experiments, by name in the legend."""
  folders = [pathlib.Path(folder) for folder in folders_flag.value]
  with program.blame(folders_flag, ValueError):
    if len(set(folders)) < len(folders):
      raise ValueError('a folder is given twice')
  names = names_flag.value or [folder.name for folder in folders]
  with program.blame(names_flag, ValueError):
    if len(names) != len(folders):
      raise ValueError(f'{len(names)} names for {len(folders)} experiments')
    if not names_flag.value and len(set(names)) < len(names):
      raise ValueError(
        f'names of folders must differ, found {", ".join(names)}; give names,'
        ' and those of the same name are one curve'
      )
  experiments = collections.defaultdict(list)
  with program.blame(folders_flag, metrics_table.MetricsError):
    for name, folder in zip(names, folders, strict=True):
      file = folder / 'metrics.csv'
      metrics = metrics_table.read_metrics(file)
      if not len(metrics['round']):
        raise metrics_table.MetricsError(f'{file} has no round yet')
      experiments[name].append(metrics)
  return experiments


if __name__ == '__main__':
  program.run(main)
