# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Command lines of programs that train: systems, tasks and their settings."""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import functools
import sys
from typing import Any, Generic, NoReturn, TypeVar

from tff_semifl import settings
from tff_semifl.cli import command_line
from tff_semifl.cli import help_text
from tff_semifl.cli import program
from tff_semifl.experiment import command as command_lib
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import presets
from tff_semifl.experiment import system_registry

_Own = TypeVar('_Own', bound=settings.Settings)
_Part = TypeVar('_Part', bound=settings.Settings)

_COMMON = {
  'preset': "Settings of a cell of a paper's table or figure, such as"
  ' semifl/cifar10_4000_iid; tff_semifl/experiment/presets.csv lists all'
  ' presets. Other flags and flagfiles take precedence over it.',
  **help_text.COMMON,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Both(settings.Settings, Generic[_Own, _Part]):
  """A program's own settings, and the settings of training."""

  own: _Own
  part: _Part

  def groups(self) -> dict[str, list[settings.Settings]]:
    """The settings under each heading of the help text."""
    part: Any = self.part
    groups = part.groups() if hasattr(part, 'groups') else {'data': [part]}
    return {**groups, 'program': [self.own]}


def beside(
  own: _Own, create_part: Callable[[Mapping[str, Any]], _Part]
) -> Callable[[Mapping[str, Any]], Both[_Own, _Part]]:
  """A function that creates `Both` from changed values of settings."""
  names = settings.as_dict(own)

  def create_both(changes: Mapping[str, Any]) -> Both[_Own, _Part]:
    return Both(
      own=settings.change_present(own, changes),
      part=create_part({k: v for k, v in changes.items() if k not in names}),
    )

  return create_both


create = command_lib.create


def create_data(changes: Mapping[str, Any]) -> experiment_settings.Data:
  """Creates the data settings of SemiFL, for programs that do not train."""
  return create('semifl', changes).experiment.data


def names_of_all_settings() -> frozenset[str]:
  """The names of all settings of all registered systems."""
  return frozenset().union(
    *(settings.all_names(create(name, {})) for name in system_registry.SYSTEMS)
  )


def expand(system_name: str, arguments: Sequence[str]) -> list[str]:
  """Replaces presets and flagfiles by their contents.

  The last value of a flag counts, so that flagfiles override the preset, and
  flags of the command line override both. Only the last preset counts.
  """
  found, others = command_line.read(
    command_line.read_flagfiles(arguments), {'preset': str}
  )
  if not found:
    return others
  preset = presets.load(found['preset'])
  if preset.system_name != system_name:
    raise settings.SettingError(
      'preset',
      preset.name,
      f'is a preset of {preset.system_name}, not of {system_name}',
    )
  chosen = {'output_dir': preset.output_dir, **preset.settings}
  return [
    *(f'--{key}={settings.show(value)}' for key, value in chosen.items()),
    *others,
  ]


def parse(system_name: str, arguments: Sequence[str]) -> command_lib.Command:
  """The settings of a command line of `launch.train`."""
  command, _ = command_line.parse(
    functools.partial(create, system_name),
    expand(system_name, arguments),
    command_line.spell_commands(f'python -m launch.train {system_name}'),
    names_of_all_settings,
  )
  return command


def run(
  main: Callable[[_Own, command_lib.Command], None],
  own: _Own,
  *,
  system_name: str | None = None,
  create_command: Callable[
    [str, Mapping[str, Any]], command_lib.Command
  ] = create,
) -> None:
  """Reads a system and its flags, runs `main` and ends the process.

  The system is the first argument, unless `system_name` is given.
  """
  how = command_line.name_program()
  arguments = program.read_arguments()
  try:
    if system_name is None:
      if not arguments or arguments[0] in command_line.HELP:
        _say_systems(f'{how} SYSTEM', is_asked=bool(arguments))
      system_name, *arguments = arguments
      if system_name.startswith('-'):
        raise command_line.UsageError(
          f'what to train comes before flags: {how} SYSTEM {system_name} ...,'
          f' where SYSTEM is one of {", ".join(system_registry.SYSTEMS)}'
        )
      how = f'{how} {system_name}'
      try:
        system_registry.load(system_name)
      except settings.SettingError as error:
        # No flag gives the system.
        raise command_line.UsageError(str(error)) from error
    arguments = expand(system_name, arguments)
  except Exception as error:
    program.end_with_error(error)
  program.run(
    lambda both: main(both.own, both.part),
    beside(own, functools.partial(create_command, system_name)),
    how=how,
    arguments=arguments,
    common=_COMMON,
    elsewhere=names_of_all_settings,
    interrupted=program.RESUMES,
  )


def _say_systems(how: str, *, is_asked: bool) -> NoReturn:
  lines = [
    command_line.describe_program(),
    f'usage: {how} [--flag=value ...]',
    '',
    'systems:',
  ]
  for name, system in system_registry.SYSTEMS.items():
    lines.extend([f'  {name}', help_text.wrap(system.summary)])
  print('\n'.join(lines), file=sys.stdout if is_asked else sys.stderr)
  sys.exit(0 if is_asked else 1)
