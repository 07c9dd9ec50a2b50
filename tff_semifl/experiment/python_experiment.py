# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Creates an experiment in a Python program or notebook."""

from typing import Any

from tff_semifl import settings as settings_lib
from tff_semifl.algorithms import system as system_lib
from tff_semifl.experiment import chosen_models
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import image_task
from tff_semifl.experiment import own_data
from tff_semifl.experiment import run_settings
from tff_semifl.experiment import system_registry
from tff_semifl.experiment import task_registry
from tff_semifl.runtime import cohorts


def create_experiment(
  system: str | system_lib.System,
  task: image_task.ImageTask | image_task.Task,
  *,
  create_model: chosen_models.CreateModel | None = None,
  **settings: Any,
) -> experiment_lib.Experiment:
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
    settings.SettingError: If a system or setting does not exist, `task` is not
      a task, a setting has a bad value, or settings contradict each other.
    durable_files.OutputError: If the private key in the folder is unusable.
  """
  cohorts.grow_gpu_memory()
  if isinstance(system, system_lib.System):
    name = system_registry.find_name(system)
  else:
    name, system = system, system_registry.load(system)
  if isinstance(task, image_task.ImageTask):
    task = own_data.create_part(task)
  elif not isinstance(task, image_task.Task):
    raise settings_lib.SettingError(
      'task',
      task if isinstance(task, str) else f'a {type(task).__name__}',
      "must be a task: sfl.TASKS['digits'], say, or sfl.own_data(train, test)",
    )
  if create_model is not None:
    if 'model' in settings:
      raise settings_lib.SettingError(
        'model', settings['model'], 'leave it out, or create_model'
      )
    settings['model'] = create_model
  run = settings_lib.change_present(run_settings.RunSettings(), system.usual)
  of_run = settings_lib.all_names(run)
  chosen = experiment_settings.create(
    name,
    system,
    task_registry.ChosenTask(task=task),
    {k: v for k, v in settings.items() if k not in of_run},
  )
  run = settings_lib.change(
    run, {k: v for k, v in settings.items() if k in of_run}
  )
  return experiment_lib.create_experiment(chosen, run)
