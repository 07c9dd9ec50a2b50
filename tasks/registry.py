# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""All tasks by name."""

from tasks import cifar10
from tasks import cifar100
from tasks import digits
from tasks import emnist
from tasks import image_task
from tasks import stl10
from tasks import svhn

_CREATORS = {
  'cifar10': cifar10.create_task,
  'cifar100': cifar100.create_task,
  'digits': digits.create_task,
  'emnist': emnist.create_task,
  'stl10': stl10.create_task,
  'svhn': svhn.create_task,
}


def task_names() -> list[str]:
  """Returns the names of all tasks."""
  return sorted(_CREATORS)


def create_task(name: str) -> image_task.ImageTask:
  """Creates the task of that name.

  Raises:
    ValueError: If there is none; the message lists those that there are.
  """
  if name not in _CREATORS:
    raise ValueError(
      f'There is no task {name!r}; there are {", ".join(task_names())}.'
    )
  return _CREATORS[name]()
