# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tasks by name, and the setting that names one.

Needs no TFF: programs that use an exported model have the setting too.
"""

import dataclasses
import importlib

from tff_semifl import installation
from tff_semifl import settings
from tff_semifl.experiments import image_task
from tff_semifl.experiments import own_data
from tff_semifl.settings import references

# The class of each task, in the module `tasks.NAME`.
_CLASSES = {
  'digits': 'Digits',
  'cifar10': 'CIFAR10',
  'cifar100': 'CIFAR100',
  'emnist': 'EMNIST',
  'stl10': 'STL10',
  'svhn': 'SVHN',
  'image_folder': 'ImageFolder',
  'features': 'Features',
}


def _create(module_name: str, class_name: str) -> image_task.Task:
  module = importlib.import_module(
    f'{installation.find("tasks")}.{module_name}'
  )
  return getattr(module, class_name)()


TASKS = {name: _create(name, found) for name, found in _CLASSES.items()}


def _load(reference: str) -> image_task.Task:
  """Loads a task of another package.

  Args:
    reference: 'package.module:NAME' of an instance or a class.
  """
  found = references.load(reference)
  if isinstance(found, type) and issubclass(found, image_task.Task):
    return found()
  if not isinstance(found, image_task.Task):
    raise ValueError(f'is a {type(found).__name__}; must be a Task')
  return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChosenTask(image_task.ChosenTask):
  """The setting of the task."""

  task: image_task.Task = settings.choice(
    TASKS,
    'digits',
    'Learning task; image_folder uses your own images, in --image_dir, and'
    ' features your own feature vectors, in --features_file.',
    load=_load,
    refused={
      own_data.REFERENCE: 'its images are only in the program that has them'
    },
  )
