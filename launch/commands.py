# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Commands that train: a system and all that is set by flags."""

from collections.abc import Mapping, Sequence
import contextlib
import dataclasses
import functools
from typing import Any

from absl import flags

from launch import known
from launch import program
from launch import setting_flags
from tff_semifl import settings
from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.experiments import experiment_settings
from tff_semifl.experiments import run_settings
from tff_semifl.experiments import runtimes
from tff_semifl.programs import durable_files
from tff_semifl.programs import outputs
from tff_semifl.programs import training
from tff_semifl.systems import registry


@dataclasses.dataclass(frozen=True, kw_only=True)
class Command(settings.Settings):
  """All that a training program is told."""

  experiment: experiment_settings.ExperimentSettings
  run: run_settings.RunSettings
  runtime: runtimes.ChosenRuntime

  def groups(self) -> dict[str, list[settings.Settings]]:
    """Returns its parts by what they are about, for help."""
    experiment = self.experiment
    of_system = [
      experiment.system,
      experiment.statistics,
      experiment.final_test,
    ]
    return {
      'data': [experiment.data],
      'model': [experiment.model],
      'system': [part for part in of_system if part is not None],
      'run': [self.run, self.runtime],
    }

  def with_changes(self, changes: Mapping[str, Any]) -> 'Command':
    """Returns the same with other values of settings.

    Raises:
      settings.SettingError: If a setting does not take its value.
    """
    return settings.change(self, changes)

  def create_experiment(self) -> experiment_lib.Experiment:
    """Builds everything that is to be run.

    Raises:
      settings.SettingError: If settings contradict each other, or the folder
        for results cannot be used.
    """
    self.check()
    # Before TensorFlow is at work.
    self.runtime.runtime.limit_threads()
    with blame_output(self.run):
      return experiment_lib.create_experiment(
        self.experiment, self.run, by_index=self.runtime.runtime.by_index
      )

  def check(self) -> None:
    """Checks how it is to be run.

    Raises:
      settings.SettingError: If settings contradict each other.
    """
    if self.experiment.model.jit_compile and not self.runtime.runtime.has_xla:
      raise settings.SettingError(
        'jit_compile',
        True,
        "TFF's worker has no XLA; use --runtime=in_process or leave it out",
      )
    self.runtime.runtime.check()

  def open_folder(
    self, experiment: experiment_lib.Experiment
  ) -> outputs.ExperimentFolder:
    """Makes or finds the folder of an experiment.

    Raises:
      settings.SettingError: If it cannot be used.
    """
    with blame_output(experiment.run):
      return experiment_lib.open_folder(
        experiment, settings.as_dict(self.runtime), UNIMPORTANT
      )

  def check_folder(self) -> None:
    """Checks that the folder, which is there, is of this experiment.

    Raises:
      settings.SettingError: If it cannot be used.
    """
    task = experiment_lib.create_task(self.experiment.data)
    experiment = experiment_settings.fill_in(self.experiment, task)
    run = self.run.fill_in(experiment)
    with blame_output(run):
      experiment_lib.take_folder(
        experiment,
        run,
        task,
        experiment_lib.record(experiment, run),
        UNIMPORTANT,
      )

  def context(self) -> contextlib.AbstractContextManager[None]:
    """Runs the computations called in the `with` block."""
    return self.runtime.runtime.context()


# Names of settings that say how an experiment is computed, and not what.
UNIMPORTANT = frozenset(
  settings.all_names(runtimes.ChosenRuntime())
  | settings.all_names(run_settings.RunSettings())
)


@functools.cache
def names_of_all_settings() -> frozenset[str]:
  """Returns the names of all settings that any system of the registry has."""
  return frozenset().union(
    *(settings.all_names(create(name, {})) for name in registry.SYSTEMS)
  )


def create(system_name: str, changes: Mapping[str, Any]) -> Command:
  """Creates a command.

  Args:
    system_name: The system.
    changes: Values of settings by name.

  Raises:
    settings.SettingError: If a setting does not take its value, or is not
      there.
  """
  system = known.load_system(system_name)
  rest = {k: v for k, v in changes.items() if k not in UNIMPORTANT}
  command = Command(
    experiment=known.create(system_name, rest),
    run=settings.change_present(run_settings.RunSettings(), system.usual),
    runtime=runtimes.ChosenRuntime(),
  )
  return settings.change(
    command, {k: v for k, v in changes.items() if k in UNIMPORTANT}
  )


def parse(system_name: str, arguments: Sequence[str]) -> Command:
  """Returns the command of a command line, whose flags stay its own.

  Args:
    system_name: The system.
    arguments: Flags, with those of flagfiles and presets in front.

  Raises:
    settings.SettingError: If a setting does not take its value.
    ValueError: If something is no flag, or not one of the system's.
  """

  def create_with(changes: Mapping[str, Any]) -> Command:
    return create(system_name, changes)

  command = setting_flags.choose(create_with, arguments)
  values = flags.FlagValues()
  setting_flags.define(command, values)
  try:
    _, *rest = values(['', *arguments])
  except flags.UnrecognizedFlagError as error:
    raise ValueError(
      setting_flags.explain_unknown(
        error,
        command,
        create_with,
        f'python -m launch.train {system_name}',
        names_of_all_settings(),
      )
    ) from error
  except flags.Error as error:
    raise ValueError(str(error)) from error
  if rest:
    raise ValueError(f'unexpected argument {rest[0]!r}; flags are --name=value')
  return create_with(setting_flags.read(command, values))


def run(
  experiment: experiment_lib.Experiment, folder: outputs.ExperimentFolder
) -> training.ProgramState:
  """Trains, and exports the model.

  Raises:
    settings.SettingError: If training diverges, or the folder cannot be written
      to any more or holds what is damaged.
  """
  values = settings.as_dict(experiment.settings)
  with (
    blame_output(experiment.run),
    settings.blame(
      'learning_rate', values['learning_rate'], training.TrainingDivergedError
    ),
  ):
    return experiment_lib.run(experiment, folder, quiet=program.is_quiet())


def blame_output(
  run: run_settings.RunSettings,
) -> contextlib.AbstractContextManager[None]:
  """Turns errors of a folder for results into errors of its flag."""
  return settings.blame('output_dir', run.output_dir, durable_files.OutputError)
