# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Shows the partition of images among clients, without training.

Prints the clients' numbers of images and a measure of how much their classes
differ, and draws the images by client and class: in results/partition.png, or
in the files --output_file.

  python -m launch.show_partition --task=digits --partition=dirichlet \
    --num_clients=10

With the same flags, `launch.train semifl` uses the same partition.
"""

import dataclasses

import numpy as np

from tff_semifl import settings as settings_lib
from tff_semifl.cli import commands
from tff_semifl.cli import parts
from tff_semifl.experiment import data_figures
from tff_semifl.experiment import experiment
from tff_semifl.experiment import experiment_settings
from tff_semifl.plots import figures


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShowPartition(settings_lib.Settings):
  """The settings of this program, beside those of data."""

  output_file: tuple[str, ...] = settings_lib.setting(
    ('results/partition.png',),
    'Files to write, separated by commas.',
    parts.FIGURES,
  )


def main(own: ShowPartition, settings: experiment_settings.Data) -> None:
  """Prints the summary and draws the figure."""
  files = own.output_file
  names = settings.task.sites
  if names:
    raise settings_lib.SettingError(
      'sites',
      names,
      'the images of sites are not known here; leave the flag out',
    )
  task = settings.task.create()
  data = experiment.load_data(settings.fill_in(task), task)
  summary = data_figures.summarize_partition(task, data, settings.title)
  with settings_lib.blame('output_file', files, OSError):
    figures.save(summary.create_figure(), files)

  num_images = len(data.unlabeled.true_labels)
  sizes = summary.counts.sum(axis=1)
  print(f'{summary.title}, seed {settings.seed.seed}')
  print(f'images with labels: {len(data.labeled.labels)}')
  print(
    f'images without: {num_images}, of which {num_images - sizes.sum()} with'
    ' no client'
  )
  print(
    f'images per client: {sizes.min()} at least, {np.median(sizes):g} in the'
    f' median, {sizes.max()} at most'
  )
  print(
    'R, from 0 for one mix of classes to 1 for none in common:'
    f' {summary.skew}'
  )
  for note in data.notes:
    print(f'note: {note}')
  for file in files:
    print(f'figure: {file}')


if __name__ == '__main__':
  commands.run_on_data(main, ShowPartition())
