# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The experiments of a sweep, checked before the first of them runs.

Each is checked in this process by the code of `launch.train`, with the same
flags, so that a mistake in the last experiment shows before the first one
begins. Checks that need the data are left to the runs.
"""

from collections.abc import Sequence
import fnmatch
import pathlib
import re
import sys

from absl import flags

from tff_semifl.experiments import presets
from tff_semifl.launch import command_line
from tff_semifl.launch import commands
from tff_semifl.launch import program
from tff_semifl.sweeps import entries
from tff_semifl.sweeps import experiments as experiments_lib
from tff_semifl.systems import registry

# Flags that are not passed on: a sweep sets the first two for each experiment,
# and the last one does not apply.
_NOT_FOR_ALL = ('seed', 'experiment_name', 'dry_run')

_PAPER_PREFIX = '# Paper:'
# SemiFL's Table 2 has one more digit, and no deviation.
_PAPER = re.compile(r'# Paper: (\d{1,3}\.\d{1,2})%(?: \((\d{1,2}\.\d)\))?: \S')


def check_passed_on(arguments: Sequence[str]) -> None:
  """Checks the flags that are passed on to all experiments.

  Args:
    arguments: The flags.

  Raises:
    program.FlagError: If a flag cannot be passed on, or an argument is not a
      flag.
  """
  may_be_value = False
  for argument in arguments:
    is_value, may_be_value = may_be_value, False
    if argument.startswith('--'):
      may_be_value = '=' not in argument
      name = argument.removeprefix('--').partition('=')[0]
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


def read_flagfiles(names: Sequence[str]) -> list[entries.Entry]:
  """Returns an entry of the sweep for each flagfile.

  Args:
    names: Paths, each with the system and a colon in front.

  Raises:
    ValueError: If a flagfile cannot be read, or if no system is in front.
  """
  return [_read(name) for name in names]


def find_presets(patterns: Sequence[str]) -> list[entries.Entry]:
  """Returns an entry of the sweep for each matching preset.

  Args:
    patterns: Names of presets, in which * stands for any characters.

  Raises:
    ValueError: If no preset matches a pattern.
  """
  found = []
  for pattern in patterns:
    names = fnmatch.filter(presets.names(), pattern)
    if not names:
      # Raises an error that names similar presets.
      presets.load(pattern)
    for name in names:
      preset = presets.load(name)
      found.append(
        entries.Entry(
          name=name.replace('/', '_'),
          system_name=preset.system_name,
          source=name,
          paper=preset.paper,
        )
      )
  return found


def check_names(found: Sequence[entries.Entry]) -> None:
  """Checks that no two entries have the same name.

  Args:
    found: The entries.

  Raises:
    ValueError: If two entries have the same name.
  """
  by_name = {}
  for entry in found:
    other = by_name.setdefault(entry.name, entry)
    if other is not entry:
      raise ValueError(
        f'{other.source} and {entry.source} would both be {entry.name}; rename'
        ' one, or leave it out'
      )


def create_experiments(
  entry: entries.Entry,
  seeds: Sequence[int],
  arguments: Sequence[str],
  output_dir: pathlib.Path,
) -> list[experiments_lib.Experiment]:
  """Returns the experiments of an entry, one for each seed.

  Args:
    entry: The entry.
    seeds: The seeds.
    arguments: Further flags, which take precedence over those of the entry.
    output_dir: The folder that holds the folders of all experiments.

  Raises:
    program.FlagError: If the settings are invalid, or if the folder of an
      experiment cannot be written to, holds another experiment or is in use.
  """
  source = f'--preset={entry.source}'
  if not _is_preset(entry):
    source = f'--flagfile={entry.source}'
  experiments = []
  for seed in seeds:
    name = f'{entry.name}_seed{seed}'
    of_one = [
      source,
      *arguments,
      f'--seed={seed}',
      f'--output_dir={output_dir}',
      f'--experiment_name={name}',
    ]
    try:
      _check_source(entry, source)
      command = _check(entry, of_one)
    except (ValueError, flags.Error) as error:
      flag = 'presets' if _is_preset(entry) else 'flagfiles'
      shown = program.describe(error) or str(error)
      raise program.FlagError(f'flag --{flag}={entry.source}: {shown}') from (
        error
      )
    experiments.append(
      experiments_lib.Experiment(
        name=name,
        command=(
          *(sys.executable, '-m', 'tff_semifl.launch.train', entry.system_name),
          *of_one,
        ),
        log_path=output_dir / f'{name}.log',
        entry=entry,
        folder=output_dir / name,
        total_rounds=command.experiment.system.total_rounds,
      )
    )
  return experiments


def _is_preset(entry: entries.Entry) -> bool:
  return entry.source in presets.names()


def _expand(system_name: str, arguments: Sequence[str]) -> list[str]:
  return command_line.expand_preset(
    system_name, command_line.files_first(arguments)
  )


def _check_source(entry: entries.Entry, source: str) -> None:
  """Checks that a flagfile has no flag of those that a sweep sets itself."""
  for argument in _expand(entry.system_name, [source]):
    name = argument.lstrip('-').partition('=')[0]
    if name in _NOT_FOR_ALL:
      raise ValueError(
        f'--{name} is not for a flagfile of a sweep; leave it out'
      )


def _check(entry: entries.Entry, arguments: Sequence[str]) -> commands.Command:
  """Checks the settings, and the folder if it is there."""
  command = commands.parse(
    entry.system_name, _expand(entry.system_name, arguments)
  )
  command.check()
  # A new folder is left to the run, which records its versions in it. An
  # existing one is locked here only during the check.
  if command.run.path.exists():
    command.check_folder()
  return command


def _read(name: str) -> entries.Entry:
  system_name, colon, rest = name.rpartition(':')
  if not colon:
    raise ValueError(f'what trains {name}? Write it in front, as semifl:{name}')
  registry.load(system_name)
  path = pathlib.Path(rest)
  try:
    first_line = path.read_text().partition('\n')[0]
  except OSError as error:
    raise ValueError(f'cannot read {path}: {error.strerror}') from error
  except UnicodeDecodeError as error:
    raise ValueError(f'{path} is no text') from error
  short = system_name.rpartition(':')[2]
  return entries.Entry(
    name=path.stem if path.stem.startswith(short) else f'{short}_{path.stem}',
    system_name=system_name,
    source=str(path),
    paper=_parse_paper(path, first_line),
  )


def _parse_paper(
  path: pathlib.Path, first_line: str
) -> presets.PaperAccuracy | None:
  if not first_line.startswith(_PAPER_PREFIX):
    return None
  found = _PAPER.match(first_line)
  if not found:
    raise ValueError(
      f"{path} begins with {first_line!r}; the paper's accuracy is written"
      " as '# Paper: 93.1% (0.1): ...' or '# Paper: 80.42%: ...'"
    )
  return presets.parse_accuracy(*found.groups())
