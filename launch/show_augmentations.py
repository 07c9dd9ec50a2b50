# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Writes a picture of what augmentations do to the images of a task.

  python -m launch.show_augmentations --task=digits --strong_augmentation=semifl

Below the picture, and on standard output, it says how many strong views are
blank and how much contrast they keep. Of the flags of `launch.train_semifl` it
heeds --task, --data_dir and --seed, and those of a user's own images.
"""

import pathlib

from absl import flags

from launch import augmentation_flags
from launch import chosen_task
from launch import data_flags
from launch import program
from tff_semifl.augment import remaining_contrast
from tff_semifl.data import sources
from tff_semifl.programs import augmentation_picture

_NUM_IMAGES = flags.DEFINE_integer(
  'num_images', 8, 'Rows: the first images of the task.', lower_bound=1
)
_AUGMENTATIONS_FILE = flags.DEFINE_string(
  'augmentations_file',
  'augmentations.png',
  'Where to write the picture, a PNG file.',
)


def main() -> None:
  """Runs the program, after flags were parsed."""
  task = augmentation_flags.with_chosen_augmentation(chosen_task.create_task())
  with program.blame(data_flags.DATA_DIR, sources.DataNotFoundError):
    images = task.load(data_flags.DATA_DIR.value).train.images
  with program.blame(_NUM_IMAGES, ValueError):
    if _NUM_IMAGES.value > len(images):
      raise ValueError(f'there are {len(images)} images')
  seed = data_flags.SEED.value
  notes = remaining_contrast.measure(
    images, task.strong_augmentation, seed=seed
  ).describe()
  picture = augmentation_picture.create_picture(
    images[: _NUM_IMAGES.value],
    weak=task.weak_augmentation,
    strong=task.strong_augmentation,
    seed=seed,
    notes=notes,
  )
  path = pathlib.Path(_AUGMENTATIONS_FILE.value)
  with program.blame(_AUGMENTATIONS_FILE, OSError):
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path, format='PNG')
  print(*notes, f'picture: {path}', sep='\n')


if __name__ == '__main__':
  program.run(main)
