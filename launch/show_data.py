# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Shows the partition of images among clients, and augmented images.

It prints the clients' numbers of images and a measure of how much their classes
differ. Figures show the numbers of images by client and class (partition.png),
and some images with their augmentations (augmentations.png). Nothing is
trained.

  python -m launch.show_data --task=digits --partition=dirichlet \
    --num_clients=10

All flags of `launch.train semifl` on data apply.
"""

import dataclasses
import pathlib

import numpy as np

from tff_semifl import settings as settings_lib
from tff_semifl.cli import commands
from tff_semifl.data import sources
from tff_semifl.experiment import data_figures
from tff_semifl.experiment import experiment_settings
from tff_semifl.plots import figures


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShowData(settings_lib.Settings):
  """The settings of this program, in addition to data settings."""

  output_dir: str = settings_lib.setting('results', 'Folder for the figures.')


def main(own: ShowData, settings: experiment_settings.Data) -> None:
  """Prints the summary and draws the figures."""
  with settings_lib.blame('sites', settings.task.sites):
    if settings.task.sites:
      raise ValueError('their images are not known here; leave the flag out')
  task = settings.create_task()
  data = settings.fill_in(task).load(task)
  fig, skew = data_figures.draw_partition(task, data, settings.title)
  drawn = {'partition': fig}
  images = (data.labeled if len(data.labeled.labels) else data.unlabeled)[0]
  if sources.kind_of(task.image_shape) is sources.IMAGES:
    drawn['augmentations'] = data_figures.draw_augmentations(
      task, np.asarray(images[:8]), seed=settings.seed.seed
    )
  num_images = len(data.unlabeled.true_labels)
  sizes = [*map(len, data.shares)]
  print(
    f'{settings.title}, {len(sizes)} clients, seed {settings.seed.seed}',
    f'images with labels: {len(data.labeled.labels)}',
    f'images without: {num_images}, of which {num_images - sum(sizes)} with no'
    ' client',
    f'images per client: {min(sizes)} at least, {np.median(sizes):g} in the'
    f' median, {max(sizes)} at most',
    f'R, from 0 (equal class shares) to 1 (no common classes): {skew}',
    *(f'note: {note}' for note in data.notes),
    sep='\n',
  )
  with settings_lib.blame('output_dir', own.output_dir, OSError):
    for name, each in drawn.items():
      file = pathlib.Path(own.output_dir) / f'{name}.png'
      figures.save(each, [file])
      print(f'figure: {file}')


if __name__ == '__main__':
  commands.run_on_data(main, ShowData())
