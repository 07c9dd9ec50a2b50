# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tasks by name, and the setting that names a task.

This module does not import TFF, because programs that only use exported models
do not need TFF.
"""

import dataclasses

from tff_semifl import settings
from tff_semifl.experiment import image_task
from tff_semifl.settings import references

TASKS = references.Options(
  references.find_package('tasks'),
  {
    'digits': 'digits:Digits',
    'cifar10': 'cifar:CIFAR10',
    'cifar100': 'cifar:CIFAR100',
    'emnist': 'emnist:EMNIST',
    'fashion_mnist': 'fashion_mnist:FashionMNIST',
    'svhn': 'svhn:SVHN',
    'image_folder': 'image_folder:ImageFolder',
    'features': 'features:Features',
  },
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChosenTask(settings.Settings):
  """The setting that names the task."""

  task: image_task.Task = settings.choice(
    TASKS,
    'digits',
    'Learning task; image_folder uses your own images, in --image_dir, and'
    ' features your own feature vectors, in --features_file.',
    load=settings.outside(image_task.Task),
    refused={
      image_task.OWN_DATA: 'its images are only in the program that has them'
    },
  )
