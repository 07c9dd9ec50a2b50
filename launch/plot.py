# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Draws the learning curves of one or more experiments.

  python -m launch.plot --experiments=results/labels_alone,results/semifl \
    --plot_files=curves.png,curves.svg

Test accuracy, and where clients made pseudo-labels, how many and how right.
"""

import pathlib

from absl import flags

from launch import program
from tff_semifl.programs import learning_curves

_EXPERIMENTS = flags.DEFINE_list(
  'experiments', None, 'Folders of experiments, with commas.'
)
_NAMES = flags.DEFINE_list(
  'names',
  None,
  'What to call them in the legend, with commas. By default as their folders.',
)
_TITLE = flags.DEFINE_string('title', '', 'Title of the picture.')
_PLOT_FILES = flags.DEFINE_list(
  'plot_files',
  ['learning_curves.png'],
  'Where to draw, with commas; each name says whether as PNG, PDF or SVG.',
)
flags.register_validator(
  _PLOT_FILES.name,
  lambda files: files
  and all(
    pathlib.Path(file).suffix in ('.png', '.pdf', '.svg') for file in files
  ),
  message='must each end in .png, .pdf or .svg',
)


def main() -> None:
  """Runs the program, after flags were parsed."""
  # Not a required flag: those are required of every program and test that
  # happens to import this one.
  with program.blame(_EXPERIMENTS, ValueError):
    if not _EXPERIMENTS.value:
      raise ValueError('name the folder of at least one experiment')
  folders = [pathlib.Path(folder) for folder in _EXPERIMENTS.value]
  names = _NAMES.value or [folder.name for folder in folders]
  with program.blame(_NAMES, ValueError):
    if len(names) != len(folders):
      raise ValueError(f'{len(names)} names for {len(folders)} experiments')
    if len(set(names)) < len(names):
      raise ValueError(f'names must differ; found {", ".join(names)}')
  with program.blame(_EXPERIMENTS, learning_curves.MetricsError):
    experiments = {
      name: learning_curves.read_metrics(folder / 'metrics.csv')
      for name, folder in zip(names, folders, strict=True)
    }
  with program.blame(_PLOT_FILES, OSError):
    learning_curves.draw_learning_curves(
      experiments, _TITLE.value, _PLOT_FILES.value
    )
  for file in _PLOT_FILES.value:
    print(f'picture: {file}')


if __name__ == '__main__':
  program.run(main)
