# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The setting --task, which names a task on the command line.

This module is separate because programs that use an exported model have the
setting, too, and do not need TFF for it.
"""

import dataclasses

from tff_semifl import settings
from tff_semifl.experiments import image_task
from tff_semifl.experiments import references
from tff_semifl.tasks import registry


def _load_task(reference: str) -> image_task.Task:
  """Returns a task that is not part of this repository.

  Args:
    reference: 'package.module:NAME', the name of an instance or a class.
  """
  found = references.load(reference)
  if isinstance(found, type) and issubclass(found, image_task.Task):
    return found()
  if not isinstance(found, image_task.Task):
    raise ValueError(f'is a {type(found).__name__}; must be a Task')
  return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChosenTask(image_task.ChosenTask):
  """The task that a command line names."""

  task: image_task.Task = settings.choice(
    registry.TASKS,
    'digits',
    'Learning task; image_folder uses your own images, in --image_dir.',
    load=_load_task,
  )
