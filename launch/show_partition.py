# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Shows the partition of images among clients, without training.

Prints the clients' numbers of images and a measure of how much their classes
differ, and draws the images by client and class.

  python -m launch.show_partition --task=digits --partition=dirichlet \
    --num_clients=10
"""

import dataclasses

import numpy as np

from tff_semifl import settings as settings_lib
from tff_semifl.cli import commands
from tff_semifl.cli import parts
from tff_semifl.experiment import data_figures
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
  with settings_lib.blame('sites', settings.task.sites):
    if settings.task.sites:
      raise ValueError('their images are not known here; leave the flag out')
  task = settings.task.create()
  data = settings.fill_in(task).load(task)
  fig, skew = data_figures.draw_partition(task, data, settings.title)
  with settings_lib.blame('output_file', own.output_file, OSError):
    figures.save(fig, own.output_file)
  num_images = len(data.unlabeled.true_labels)
  sizes = [*map(len, data.shares)]
  print(
    f'{settings.title}, {len(sizes)} clients, seed {settings.seed.seed}',
    f'images with labels: {len(data.labeled.labels)}',
    f'images without: {num_images}, of which {num_images - sum(sizes)} with no'
    ' client',
    f'images per client: {min(sizes)} at least, {np.median(sizes):g} in the'
    f' median, {max(sizes)} at most',
    f'R, from 0 for one mix of classes to 1 for none in common: {skew}',
    *(f'note: {note}' for note in data.notes),
    *(f'figure: {file}' for file in own.output_file),
    sep='\n',
  )


if __name__ == '__main__':
  commands.run_on_data(main, ShowPartition())
