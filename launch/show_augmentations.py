# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Draws weakly and strongly augmented images of a task.

  python -m launch.show_augmentations --task=digits --strong_augmentation=semifl

The figure is results/augmentations.png, or the PNG file --output_file. Below
the images, and on standard output, are the share of strongly augmented images
that are blank and the contrast that the others keep. All flags of `launch.train
semifl` on data apply.
"""

from absl import flags

from tff_semifl import settings as settings_lib
from tff_semifl.cli import commands
from tff_semifl.cli import output_flag
from tff_semifl.cli import program
from tff_semifl.cli import setting_flags
from tff_semifl.data import example_kinds
from tff_semifl.experiment import data_figures
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import image_task
from tff_semifl.plots import figures

_NUM_IMAGES = flags.DEFINE_integer(
  'num_images',
  8,
  'Number of rows, each with one of the first images of the task.',
  lower_bound=1,
)


def main(settings: experiment_settings.Data) -> None:
  """Draws the figure."""
  path = output_flag.one('results/augmentations.png')
  task = settings.create_task()
  kind = example_kinds.kind_of(task.image_shape)
  if kind is not example_kinds.IMAGES:
    raise settings_lib.SettingError(
      'task',
      settings.task.reference,
      f'has {kind.name}, which have no augmentations to be drawn',
    )
  images = image_task.load(settings.task, task).train.images
  with program.blame(_NUM_IMAGES, ValueError):
    if _NUM_IMAGES.value > len(images):
      raise ValueError(f'there are {len(images)} images')
  fig, notes = data_figures.draw_augmentations(
    task, images, seed=settings.seed.seed, num_images=_NUM_IMAGES.value
  )
  with output_flag.writing(path):
    figures.save(fig, [path])
  print(*notes, f'figure: {path}', sep='\n')


if __name__ == '__main__':
  setting_flags.run(
    'python -m launch.show_augmentations',
    commands.create_data,
    main,
    elsewhere=commands.names_of_all_settings,
  )
