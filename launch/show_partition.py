# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Shows how images are shared among clients, without training anything.

It prints how many images clients have and how much they differ in their
classes, and draws how many of each class each has.

  python -m launch.show_partition --task=digits --partition=dirichlet \
    --num_clients=10

The same flags share out the same images in `launch.train_semifl`.
"""

import pathlib

from absl import flags
import numpy as np

from launch import chosen_task
from launch import data_flags
from launch import federated_data
from launch import image_folder_flags
from launch import program
from tff_semifl.data import label_skew
from tff_semifl.programs import partition_picture

_PARTITION_FILE = flags.DEFINE_string(
  'partition_file',
  'partition.png',
  'File to draw into; its name says whether as PNG, PDF or SVG.',
)
flags.register_validator(
  _PARTITION_FILE.name,
  lambda value: pathlib.Path(value).suffix in ('.png', '.pdf', '.svg'),
  message='must end in .png, .pdf or .svg',
)


def main() -> None:
  """Runs the program, after flags were parsed."""
  settings = federated_data.resolve_partition()
  task = chosen_task.create_task()
  data = federated_data.create_federated_data(
    task,
    settings,
    num_labeled=data_flags.NUM_LABELED.value or task.num_labeled,
    seed=data_flags.SEED.value,
  )
  labels = data.unlabelled.labels
  class_names = task.class_names
  num_unknown = int(np.count_nonzero(labels < 0))
  if num_unknown == len(labels):
    labels, class_names = np.zeros_like(labels), ('unknown',)
  elif num_unknown:
    # They are drawn as a class of their own.
    labels = np.where(labels < 0, task.num_classes, labels)
    class_names = (*class_names, 'unknown')
  counts = label_skew.count_classes(labels, data.shares, len(class_names))
  if num_unknown:
    skew = f'unknown, as the class of {num_unknown} images is'
  else:
    skew = f'{label_skew.measure_label_skew(counts):.3f}'
  title = f'{data_flags.TASK.value}, {_describe(settings, len(data.shares))}'
  with program.blame(_PARTITION_FILE, OSError):
    partition_picture.draw_partition(
      counts, class_names, f'{title}: R {skew}', _PARTITION_FILE.value
    )

  sizes = counts.sum(axis=1)
  print(f'{title}, seed {data_flags.SEED.value}')
  print(f'images with labels: {len(data.labelled.labels)}')
  print(
    f'images without: {len(labels)}, of which {len(labels) - sizes.sum()} with'
    ' no client'
  )
  print(
    f'images per client: {sizes.min()} at least, {np.median(sizes):g} in the'
    f' median, {sizes.max()} at most'
  )
  print(f'R, from 0 for one mix of classes to 1 for none in common: {skew}')
  print(f'picture: {_PARTITION_FILE.value}')


def _describe(
  settings: federated_data.PartitionSettings, num_clients: int
) -> str:
  how = {
    None: f'as in {image_folder_flags.IMAGE_DIR.value}',
    'iid': 'IID',
    'classes': f'{settings.classes_per_client} classes per client',
    'dirichlet': f'Dirichlet {settings.dirichlet_concentration}',
  }[settings.partition]
  return f'{how}, {num_clients} clients'


if __name__ == '__main__':
  program.run(main)
