# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The experiments of a sweep, checked before the first of them runs.

Each is checked in this process by the code of `launch.train`, with the same
flags, so that a mistake in the last experiment shows at once. Checks that need
the data are left to the runs.
"""

from collections.abc import Sequence
import pathlib
import re
import sys

from absl import flags

from tff_semifl import settings
from tff_semifl.command_line import command_text
from tff_semifl.command_line import commands
from tff_semifl.command_line import program
from tff_semifl.experiments import command as command_lib
from tff_semifl.experiments import experiment_settings
from tff_semifl.experiments import validation
from tff_semifl.sweeps import entries
from tff_semifl.sweeps import experiments as experiments_lib

# A sweep sets the first two for each experiment; the last does not apply.
_NOT_FOR_ALL = ('seed', 'experiment_name', 'dry_run')
# Flags of which a sweep cannot try several values: also where it writes, what
# it compares by, and those that stand for many.
_NOT_TO_VARY = (
  *_NOT_FOR_ALL,
  'output_dir',
  *validation.SETTINGS,
  'flagfile',
  'preset',
)


def check_passed_on(arguments: Sequence[str]) -> None:
  """Checks the flags that are passed on to all experiments."""
  may_be_value = False
  for argument in arguments:
    is_value, may_be_value = may_be_value, False
    name = _name_flag(argument)
    if name is not None:
      may_be_value = '=' not in argument
      for own in _NOT_FOR_ALL:
        if name in (own, f'no{own}'):
          remedy = 'give --seeds' if own == 'seed' else 'leave it out'
          raise program.FlagError(
            f'flag --{own}: a sweep has none for all; {remedy}'
          )
    elif not is_value and not argument.startswith('-'):
      raise program.FlagError(
        f'unexpected argument {argument!r}; flags are --name=value'
      )


def has_flag(arguments: Sequence[str], name: str | None) -> bool:
  """Whether the flag `name` is among `arguments`; False for None."""
  return name is not None and any(
    _name_flag(argument) in (name, f'no{name}') for argument in arguments
  )


def check_varied(name: str) -> None:
  """Checks that a sweep can try several values of a setting."""
  if name == 'seed':
    raise ValueError('give --seeds')
  if name in _NOT_TO_VARY:
    raise ValueError('a sweep cannot vary this setting')


def without_validation(arguments: Sequence[str]) -> list[str]:
  """Removes the flags of a validation split, and their values."""
  kept = []
  is_value = False
  for argument in arguments:
    is_it = _name_flag(argument) in validation.SETTINGS
    if not is_it and not is_value:
      kept.append(argument)
    is_value = is_it and '=' not in argument
  return kept


def _name_flag(argument: str) -> str | None:
  """The name in an argument that is a flag, of one dash or two."""
  match = re.match(r'--?([A-Za-z_]\w*)', argument)
  return match and match[1]


def create_experiments(
  entry: entries.Entry,
  seeds: Sequence[int],
  arguments: Sequence[str],
  output_dir: pathlib.Path,
) -> list[experiments_lib.Experiment]:
  """The experiments of an entry, one for each seed.

  `arguments` take precedence over those of the entry.
  """
  experiments = []
  for seed in seeds:
    of_one = [
      *entry.arguments,
      *arguments,
      *([entry.varied.flag] if entry.varied else []),
      f'--seed={seed}',
      f'--output_dir={output_dir}',
    ]
    try:
      _check_source(entry)
      command = _check(entry, of_one, seed)
    except (ValueError, flags.Error) as error:
      flag = 'presets' if entry.is_preset else 'flagfiles'
      shown = program.describe(error) or str(error)
      raise program.FlagError(f'flag --{flag}={entry.source}: {shown}') from (
        error
      )
    stop_after = command.experiment.selection.stop_after
    if stop_after is not None:
      raise program.FlagError(
        f'flag --stop_after={stop_after}: experiments of a sweep must have the'
        ' same number of rounds; leave it out'
      )
    name = command.run.experiment_name
    experiments.append(
      experiments_lib.Experiment(
        name=name,
        command=(
          *(sys.executable, '-m', 'launch.train', entry.system_name),
          *of_one,
          f'--experiment_name={name}',
        ),
        log_path=output_dir / f'{name}.log',
        entry=entry,
        folder=output_dir / name,
        total_rounds=command.experiment.system.total_rounds,
        task=repr(command.experiment.data.task),
        validates=command.experiment.validates,
      )
    )
  return experiments


def _name(
  entry: entries.Entry,
  experiment: experiment_settings.ExperimentSettings,
  seed: int,
) -> str:
  """The name of an experiment, which says whether it validates."""
  pieces = [entry.label, f'seed{seed}']
  if experiment.validates:
    pieces.insert(1, 'validation')
  return '_'.join(pieces)


def _check_source(entry: entries.Entry) -> None:
  """Checks that a flagfile has no flag that the sweep sets itself."""
  for argument in command_text.expand(entry.system_name, entry.arguments):
    name = argument.lstrip('-').partition('=')[0]
    if name in _NOT_FOR_ALL:
      raise ValueError(
        f'--{name} is not for a flagfile of a sweep; leave it out'
      )
    if name in validation.SETTINGS:
      raise ValueError(
        f'--{name} is not for a flagfile of a sweep; give it to the sweep'
      )


def _check(
  entry: entries.Entry, arguments: Sequence[str], seed: int
) -> command_lib.Command:
  """Checks the settings, and the folder if it exists."""
  command = commands.parse(entry.system_name, arguments)
  command.check()
  name = _name(entry, command.experiment, seed)
  command = settings.change(command, {'experiment_name': name})
  # A new folder is left to the run, which records its versions in it. An
  # existing one is locked only during the check.
  if command.run.path.exists():
    command.check_folder()
  return command
