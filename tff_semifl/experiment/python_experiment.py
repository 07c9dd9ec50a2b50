# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Creates experiments from Python: a system, a task, and settings by name."""

from collections.abc import Callable
import os
from typing import Any

import tensorflow as tf

from tff_semifl import settings as settings_lib
from tff_semifl.algorithms import system as system_lib
from tff_semifl.experiment import experiment
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import image_task
from tff_semifl.experiment import keras_models
from tff_semifl.experiment import own_data
from tff_semifl.experiment import run_settings
from tff_semifl.experiment import system_registry

_NO_TASK = (
  "must be a task: one of sfl.TASKS, such as sfl.TASKS['digits'], or, of images"
  ' of your own, what sfl.own_data(train, test, ...) returns'
)


def create_experiment(
  system: str | system_lib.System,
  task: image_task.ImageTask | image_task.Task,
  *,
  create_model: Callable[[image_task.ImageTask, int], tf.keras.Model]
  | None = None,
  **settings: Any,
) -> experiment.Experiment:
  """Loads the data and builds the experiment.

  Args:
    system: A system, a name in `SYSTEMS`, or 'package.module:NAME'.
    task: A task, such as one of `TASKS`, or from `own_data`.
    create_model: (task, seed) -> Keras model from float32 images in 0..255 to
      logits. By default the model that the setting `model` names.
    **settings: Settings by name, as the flags of `launch.train`: of system,
      data, model and run (such as `output_dir`).

  Returns:
    The experiment, for `open_folder` and `run`.

  Raises:
    settings.SettingError: If a system or setting does not exist, `task` is no
      task, a setting has a bad value, or settings contradict each other.
    durable_files.OutputError: If the folder has a private key that cannot be
      used.
  """
  if isinstance(system, system_lib.System):
    name = system_registry.find_name(system)
  else:
    name, system = system, system_registry.load(system)
  run_names = settings_lib.all_names(run_settings.RunSettings())
  of_run = {k: v for k, v in settings.items() if k in run_names}
  others = {k: v for k, v in settings.items() if k not in run_names}
  if isinstance(task, image_task.ImageTask):
    task = own_data.create_part(task)
  elif not isinstance(task, image_task.Task):
    is_short = task is None or isinstance(task, str | os.PathLike | type)
    found = task if is_short else f'a {type(task).__name__}'
    raise settings_lib.SettingError('task', found, _NO_TASK)
  model = None
  if create_model is not None:
    if 'model' in others:
      raise settings_lib.SettingError(
        'model', others['model'], 'leave it out, or create_model'
      )
    model = keras_models.FunctionModel(
      reference=settings_lib.qualified_name(create_model),
      function=create_model,
    )
  chosen = experiment_settings.create(
    name, system, image_task.ChosenTask(task=task), others, model=model
  )
  usual = settings_lib.change_present(run_settings.RunSettings(), system.usual)
  return experiment.create_experiment(
    chosen, settings_lib.change(usual, of_run)
  )
