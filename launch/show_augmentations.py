# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Draws weakly and strongly augmented images of a task.

  python -m launch.show_augmentations --task=digits --strong_augmentation=semifl

Below the images, and on standard output, is the number of strongly augmented
images that are blank. All flags of `launch.train semifl` on data apply.
"""

import dataclasses

from tff_semifl import settings as settings_lib
from tff_semifl.cli import commands
from tff_semifl.cli import parts
from tff_semifl.data import example_kinds
from tff_semifl.experiment import data_figures
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import image_task
from tff_semifl.plots import figures


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShowAugmentations(settings_lib.Settings):
  """The settings of this program, beside those of data."""

  output_file: str = settings_lib.setting(
    'results/augmentations.png', 'PNG file to write.'
  )
  num_images: int = settings_lib.setting(
    8,
    'Number of rows, each with one of the first images of the task.',
    settings_lib.AT_LEAST_1,
  )


def main(own: ShowAugmentations, settings: experiment_settings.Data) -> None:
  """Draws the figure."""
  path = parts.to_file(own.output_file)
  task = settings.create_task()
  with settings_lib.blame('task', settings.task.reference):
    if example_kinds.kind_of(task.image_shape) is not example_kinds.IMAGES:
      raise ValueError('has no images, whose augmentations could be drawn')
  images = image_task.load(settings.task, task).train.images
  with settings_lib.blame('num_images', own.num_images):
    if own.num_images > len(images):
      raise ValueError(f'there are {len(images)} images')
  fig, note = data_figures.draw_augmentations(
    task, images, seed=settings.seed.seed, num_images=own.num_images
  )
  with parts.writing(path):
    figures.save(fig, [path])
  print(note, f'figure: {path}', sep='\n')


if __name__ == '__main__':
  commands.run_on_data(main, ShowAugmentations())
