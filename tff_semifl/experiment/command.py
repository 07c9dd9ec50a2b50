# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Creates and runs experiments from settings by name, as on a command line.

All errors name a setting, even errors about folders and divergence.
"""

from collections.abc import Mapping
import contextlib
import dataclasses
import functools
from typing import Any

from tff_semifl import settings as settings_lib
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import filled_settings
from tff_semifl.experiment import image_task
from tff_semifl.experiment import local_runtime
from tff_semifl.experiment import run_settings
from tff_semifl.experiment import running
from tff_semifl.experiment import runtimes
from tff_semifl.experiment import system_registry
from tff_semifl.experiment import task_registry
from tff_semifl.experiment import training
from tff_semifl.files import durable_files
from tff_semifl.runtime import sites


@dataclasses.dataclass(frozen=True, kw_only=True)
class Command(settings_lib.Settings):
  """All settings of a training program; only `experiment` affects the model."""

  experiment: experiment_settings.ExperimentSettings
  run: run_settings.RunSettings
  runtime: runtimes.ChosenRuntime

  def groups(self) -> dict[str, list[settings_lib.Settings]]:
    """Maps each heading of the help text to groups of settings."""
    experiment = self.experiment
    of_system = [experiment.system, experiment.statistics]
    return {
      'data': [experiment.data],
      'model': [experiment.model],
      'system': [part for part in of_system if part is not None],
      'evaluation and export': [self.experiment.selection],
      'run': [self.run, self.runtime],
    }

  def create_experiment(self) -> experiment_lib.Experiment:
    self.check()
    # First, because thread limits are fixed once TensorFlow runs.
    _ = self._limited_runtime
    with blame_output(self.run):
      return experiment_lib.create_experiment(self.experiment, self.run)

  def check(self) -> None:
    runtime = self.runtime.runtime
    runtime.check()
    is_native = isinstance(runtime, runtimes.Native)
    if is_native and self.experiment.model.compiles:
      raise settings_lib.SettingError(
        'runtime', 'native', 'has no XLA; use --jit_compile=false'
      )
    names = self.experiment.data.task.sites
    if names and not runtime.has_sites:
      raise settings_lib.SettingError(
        'sites',
        names,
        'only --runtime=ray reaches sites, with the --ray_address of their'
        ' cluster',
      )

  def open_folder(
    self, experiment: experiment_lib.Experiment
  ) -> experiment_folder.ExperimentFolder:
    """Creates the folder of an experiment, or opens an existing one."""
    with blame_output(experiment.run):
      return experiment_folder.open_folder(
        experiment, settings_lib.as_dict(self.runtime)
      )

  def check_folder(self) -> None:
    """Checks that the existing folder belongs to this experiment."""
    task = self._create_task()
    experiment = filled_settings.fill_in(self.experiment, task)
    run = self.run.fill_in(experiment)
    with blame_output(run):
      experiment_folder.take_folder(
        experiment, run, task, experiment_folder.record(experiment, run)
      )

  def context(
    self, federation: sites.Federation | None = None
  ) -> contextlib.AbstractContextManager[None]:
    return self._limited_runtime.context(federation)

  def _create_task(self) -> image_task.ImageTask:
    model = self.experiment.model.model
    return self.experiment.data.create_task(model.create_task)

  @functools.cached_property
  def _limited_runtime(self) -> local_runtime.Runtime:
    """The runtime, with its thread limits applied."""
    return self.runtime.runtime.limit_threads(
      lambda: filled_settings.count_batch_pixels(
        self.experiment, self._create_task()
      )
    )


def create(system_name: str, changes: Mapping[str, Any]) -> Command:
  """Creates the command of a system; `changes` override default settings."""
  system = system_registry.load(system_name)
  names = run_settings.UNIMPORTANT
  command = Command(
    experiment=experiment_settings.create(
      system_name,
      system,
      task_registry.ChosenTask(),
      {k: v for k, v in changes.items() if k not in names},
    ),
    run=settings_lib.change_present(run_settings.RunSettings(), system.usual),
    runtime=runtimes.ChosenRuntime(),
  )
  command = settings_lib.change(
    command, {k: v for k, v in changes.items() if k in names}
  )
  settings_lib.check_names(command)
  return command


def find_federation(
  experiment: experiment_lib.Experiment,
  folder: experiment_folder.ExperimentFolder,
) -> sites.Federation | None:
  """The sites of an experiment; None if this machine has all images."""
  names = experiment.settings.data.task.sites
  if not names:
    return None
  return sites.Federation(
    names, experiment.task.image_shape, is_new=not folder.has_checkpoint
  )


def run(
  experiment: experiment_lib.Experiment,
  folder: experiment_folder.ExperimentFolder,
  *,
  quiet: bool = False,
) -> running.Result:
  """Trains and exports the model; see `running.run`."""
  settings = experiment.settings
  with blame_output(experiment.run):
    try:
      return running.run(experiment, folder, quiet=quiet)
    except training.TrainingDivergedError as error:
      name, remedy = 'learning_rate', 'Smaller steps may help'
      values = settings_lib.as_dict(settings)
      if name not in values:
        # Without gradient steps, only too large examples can diverge.
        name, remedy = 'task', 'Divide all examples, so that they are about 1'
      raise settings_lib.SettingError(
        name, values.get(name), f'{error}. {remedy}'
      ) from error


def blame_output(
  run: run_settings.RunSettings,
) -> contextlib.AbstractContextManager[None]:
  """Turns errors about the folder of results into errors of --output_dir."""
  return settings_lib.blame(
    'output_dir', run.output_dir, durable_files.OutputError
  )
