# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Commands to train: an experiment, its run, and the runtime.

All errors name a setting, even errors about folders and divergence.
"""

from collections.abc import Iterator, Mapping
import contextlib
import dataclasses
import functools
from typing import Any

import numpy as np

from tff_semifl import settings
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import filled_settings
from tff_semifl.experiment import image_task
from tff_semifl.experiment import model_selection
from tff_semifl.experiment import outputs
from tff_semifl.experiment import run_settings
from tff_semifl.experiment import running
from tff_semifl.experiment import runtimes
from tff_semifl.experiment import system_registry
from tff_semifl.experiment import training
from tff_semifl.experiment import training_program
from tff_semifl.files import durable_files
from tff_semifl.runtime import sites


@dataclasses.dataclass(frozen=True, kw_only=True)
class Command(settings.Settings):
  """All settings of a training program; `experiment` determines its results."""

  experiment: experiment_settings.ExperimentSettings
  run: run_settings.RunSettings
  runtime: runtimes.ChosenRuntime

  def groups(self) -> dict[str, list[settings.Settings]]:
    """The settings under each heading of the help text."""
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
    """Builds the experiment."""
    self.check()
    # First, because thread limits are fixed once TensorFlow runs.
    runtime = self._limited_runtime
    with blame_output(self.run):
      return experiment_lib.create_experiment(
        self.experiment,
        self.run,
        by_index=runtime.by_index,
        has_xla=runtime.has_xla,
      )

  def for_plan(self) -> 'Command':
    """The command for an experiment that is described but not trained."""
    experiment = self.experiment
    chosen = dataclasses.replace(
      experiment.model, model=experiment.model.model.for_plan()
    )
    return dataclasses.replace(
      self, experiment=dataclasses.replace(experiment, model=chosen)
    )

  def check(self) -> None:
    """Checks the settings of the runtime."""
    if self.experiment.model.jit_compile and not self.runtime.runtime.has_xla:
      raise settings.SettingError(
        'jit_compile',
        True,
        "TFF's worker has no XLA; use --runtime=in_process or leave it out",
      )
    self.runtime.runtime.check()
    names = self.experiment.data.task.sites
    if names and not self.runtime.runtime.has_sites:
      raise settings.SettingError(
        'sites',
        names,
        'only --runtime=ray reaches sites, with the --ray_address of their'
        ' cluster',
      )

  def open_folder(
    self, experiment: experiment_lib.Experiment
  ) -> outputs.ExperimentFolder:
    """Creates the folder of an experiment, or opens an existing one."""
    with blame_output(experiment.run):
      return experiment_folder.open_folder(
        experiment, settings.as_dict(self.runtime)
      )

  def check_folder(self) -> None:
    """Checks that the existing folder belongs to this experiment."""
    task = self._create_task()
    experiment = filled_settings.fill_in(self.experiment, task)
    run = self.run.fill_in(experiment)
    with blame_output(run):
      experiment_folder.take_folder(
        experiment,
        run,
        task,
        experiment_folder.record(experiment, run),
        experiment.identify(),
      )

  def context(
    self, federation: sites.Federation | None = None
  ) -> contextlib.AbstractContextManager[None]:
    """A context in which the runtime runs TFF computations."""
    return self._limited_runtime.context(federation)

  def _create_task(self) -> image_task.ImageTask:
    return experiment_lib.create_task(
      self.experiment.data, self.experiment.model.model.create_task
    )

  @functools.cached_property
  def _limited_runtime(self) -> runtimes.Runtime:
    """The runtime, with its thread limits applied."""
    return self.runtime.runtime.limit_threads(
      lambda: filled_settings.count_batch_pixels(
        self.experiment, self._create_task()
      )
    )


def create(
  system_name: str,
  chosen_task: image_task.ChosenTask,
  changes: Mapping[str, Any],
) -> Command:
  """Creates the command of a system and a task, with changed settings."""
  names = run_settings.UNIMPORTANT
  system = system_registry.load(system_name)
  command = Command(
    experiment=experiment_settings.create(
      system_name,
      system,
      chosen_task,
      {k: v for k, v in changes.items() if k not in names},
    ),
    run=settings.change_present(run_settings.RunSettings(), system.usual),
    runtime=runtimes.ChosenRuntime(),
  )
  command = settings.change(
    command, {k: v for k, v in changes.items() if k in names}
  )
  settings.check_names(command)
  return command


def find_federation(
  experiment: experiment_lib.Experiment, folder: outputs.ExperimentFolder
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
  folder: outputs.ExperimentFolder,
  *,
  quiet: bool = False,
) -> training_program.ProgramState:
  """Trains and exports the model."""
  with (
    blame_output(experiment.run),
    settings.blame(
      'metrics', experiment.run.metrics, model_selection.MetricError
    ),
    _blame_divergence(experiment),
  ):
    return running.run(experiment, folder, quiet=quiet)


@contextlib.contextmanager
def _blame_divergence(experiment: experiment_lib.Experiment) -> Iterator[None]:
  """Turns divergence into an error of the learning rate, or of the task."""
  try:
    yield
  except training.TrainingDivergedError as error:
    values = settings.as_dict(experiment.settings)
    name, remedy = 'learning_rate', 'Smaller steps may help'
    if name not in values:
      # Without gradient steps, only too large examples can diverge.
      largest = np.abs(experiment.data.labeled.images).max()
      name, remedy = (
        'task',
        f'The labeled examples have numbers up to {largest:g}; divide all'
        ' examples by one number, so that they are about 1',
      )
    value = values.get(name, experiment.settings.data.task.reference)
    raise settings.SettingError(name, value, f'{error}. {remedy}') from error


def blame_output(
  run: run_settings.RunSettings,
) -> contextlib.AbstractContextManager[None]:
  """Turns errors about the folder of results into errors of --output_dir."""
  return settings.blame('output_dir', run.output_dir, durable_files.OutputError)
