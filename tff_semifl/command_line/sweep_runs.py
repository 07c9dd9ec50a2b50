# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The runs of a sweep, all checked before the first of them starts.

Each is checked by the code of `launch.train`, with the same flags. Checks that
need the data are left to the runs.
"""

from collections.abc import Sequence
import dataclasses
import fnmatch
import pathlib
import re
import sys

from absl import flags

from tff_semifl import settings
from tff_semifl.command_line import command_text
from tff_semifl.command_line import commands
from tff_semifl.command_line import parallel_runs
from tff_semifl.command_line import program
from tff_semifl.experiments import presets
from tff_semifl.experiments import system_registry
from tff_semifl.experiments import validation
from tff_semifl.results import sweep_table
from tff_semifl.runs import metrics_table
from tff_semifl.runs import outputs

# A sweep sets the first two for each run; the last does not apply.
_NOT_FOR_ALL = ('seed', 'experiment_name', 'dry_run')
# Nor can it try several values of where it writes, of what it compares by, and
# of flags that stand for many.
_NOT_TO_VARY = (
  *_NOT_FOR_ALL,
  'output_dir',
  *validation.SETTINGS,
  'flagfile',
  'preset',
)
# SemiFL's Table 2 has one more digit and no deviation.
_PAPER = re.compile(r'# Paper: (\d{1,3}\.\d{1,2})%(?: \((\d{1,2}\.\d)\))?: \S')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run(parallel_runs.Job):
  """A job that trains an entry with a seed.

  Attributes:
    entry: The entry.
    folder: The folder of the results.
    total_rounds: The number of the last round.
    task: The task with its settings; equal tasks have equal test images.
    validates: Whether the run evaluates on a validation split.
  """

  entry: sweep_table.Entry
  folder: pathlib.Path
  total_rounds: int
  task: str = ''
  validates: bool = False

  def read(self) -> metrics_table.Results:
    """The latest results."""
    return metrics_table.read_results(self.folder / 'metrics.csv')

  def read_complete(
    self,
  ) -> metrics_table.Results | metrics_table.Validation | None:
    """The results for the table, or None before the run is complete."""
    if not self.is_complete():
      return None
    if self.validates:
      return metrics_table.read_validation(self.folder / 'metrics.csv')
    return self.read()

  def is_complete(self) -> bool:
    """Whether all rounds ran and the model was exported."""
    return self.read().round_num >= self.total_rounds and bool(
      outputs.find_models(self.folder / 'export')
    )


def read_flagfiles(names: Sequence[str]) -> list[sweep_table.Entry]:
  """An entry for each 'system:flagfile'."""
  found = []
  for name in names:
    system_name, colon, rest = name.rpartition(':')
    if not colon:
      raise ValueError(f'{name} names no system; write semifl:{name}')
    system_registry.load(system_name)
    path = pathlib.Path(rest)
    try:
      first_line = path.read_text().partition('\n')[0]
    except OSError as error:
      raise ValueError(f'cannot read {path}: {error.strerror}') from error
    except UnicodeDecodeError as error:
      raise ValueError(f'{path} is not a text file') from error
    paper = _PAPER.match(first_line)
    if first_line.startswith('# Paper:') and not paper:
      raise ValueError(
        f"{path} begins with {first_line!r}; the paper's accuracy is written"
        " as '# Paper: 93.1% (0.1): ...' or '# Paper: 80.42%: ...'"
      )
    short = system_name.rpartition(':')[2]
    stem = path.stem if path.stem.startswith(short) else f'{short}_{path.stem}'
    found.append(
      sweep_table.Entry(
        stem,
        system_name,
        'flagfile',
        str(path),
        paper and presets.parse_accuracy(*paper.groups()),
      )
    )
  return found


def find_presets(patterns: Sequence[str]) -> list[sweep_table.Entry]:
  """An entry for each preset that matches a pattern."""
  found = []
  for pattern in patterns:
    # Of a pattern without a match, `load` suggests similar presets.
    for name in fnmatch.filter(presets.names(), pattern) or [pattern]:
      preset = presets.load(name)
      found.append(
        sweep_table.Entry(
          name.replace('/', '_'),
          preset.system_name,
          'preset',
          name,
          preset.paper,
        )
      )
  return found


def check_names(entries: Sequence[sweep_table.Entry]) -> None:
  """Checks that there are entries, with different names."""
  if not entries:
    raise ValueError('name at least one, or one of --presets')
  by_name = {}
  for entry in entries:
    other = by_name.setdefault(entry.name, entry)
    if other is not entry:
      raise ValueError(
        f'{other.source} and {entry.source} would both be {entry.name}; rename'
        ' one, or leave it out'
      )


def vary(
  entries: Sequence[sweep_table.Entry],
  name: str,
  values: Sequence[str],
  passed_on: Sequence[str],
) -> list[sweep_table.Entry]:
  """Each entry with each value of a setting, without the paper's accuracy."""
  if len(set(values)) < len(values):
    raise ValueError('each value is trained with once')
  if any(_name_flag(each) in (name, f'no{name}') for each in passed_on):
    raise ValueError(f'--vary sets {name}; leave --{name} out')
  return [
    entry._replace(varied=(name, value), paper=None)
    for entry in entries
    for value in values
  ]


def check_varied(name: str) -> None:
  """Checks that a sweep can try several values of a setting."""
  if name == 'seed':
    raise ValueError('give --seeds')
  if name in _NOT_TO_VARY:
    raise ValueError('a sweep cannot vary this setting')


def check_passed_on(arguments: Sequence[str]) -> None:
  """Checks the flags that are passed on to all runs."""
  may_be_value = False
  for argument in arguments:
    name = _name_flag(argument)
    for own in _NOT_FOR_ALL:
      if name in (own, f'no{own}'):
        remedy = 'give --seeds' if own == 'seed' else 'leave it out'
        raise program.FlagError(
          f'flag --{own}: a sweep has none for all; {remedy}'
        )
    if name is None and not may_be_value and not argument.startswith('-'):
      raise program.FlagError(
        f'unexpected argument {argument!r}; flags are --name=value'
      )
    may_be_value = name is not None and '=' not in argument


def without_validation(arguments: Sequence[str]) -> list[str]:
  """Removes the flags of a validation split, and their values."""
  kept, is_value = [], False
  for argument in arguments:
    is_it = _name_flag(argument) in validation.SETTINGS
    if not is_it and not is_value:
      kept.append(argument)
    is_value = is_it and '=' not in argument
  return kept


def create_runs(
  entry: sweep_table.Entry,
  seeds: Sequence[int],
  arguments: Sequence[str],
  output_dir: pathlib.Path,
) -> list[Run]:
  """The runs of an entry; `arguments` take precedence over its source."""
  varied = [] if entry.varied is None else [f'--{"=".join(entry.varied)}']
  return [
    _create_run(
      entry,
      [
        *entry.arguments,
        *arguments,
        *varied,
        f'--seed={seed}',
        f'--output_dir={output_dir}',
      ],
      seed,
      output_dir,
    )
    for seed in seeds
  ]


def _create_run(
  entry: sweep_table.Entry,
  arguments: Sequence[str],
  seed: int,
  output_dir: pathlib.Path,
) -> Run:
  try:
    _check_source(entry)
    command = commands.parse(entry.system_name, arguments)
    command.check()
    validates = command.experiment.validates
    kind = 'validation_' if validates else ''
    name = f'{entry.label}_{kind}seed{seed}'
    command = settings.change(command, {'experiment_name': name})
    # A new folder is left to the run, which records its versions in it.
    if command.run.path.exists():
      command.check_folder()
  except (ValueError, flags.Error) as error:
    shown = program.describe(error) or str(error)
    raise program.FlagError(
      f'flag --{entry.kind}s={entry.source}: {shown}'
    ) from error
  stop_after = command.experiment.selection.stop_after
  if stop_after is not None:
    raise program.FlagError(
      f'flag --stop_after={stop_after}: runs of a sweep must have the same'
      ' number of rounds; leave it out'
    )
  return Run(
    name=name,
    command=(
      *(sys.executable, '-m', 'launch.train', entry.system_name),
      *arguments,
      f'--experiment_name={name}',
    ),
    log_path=output_dir / f'{name}.log',
    entry=entry,
    folder=output_dir / name,
    total_rounds=command.experiment.system.total_rounds,
    task=repr(command.experiment.data.task),
    validates=validates,
  )


def _check_source(entry: sweep_table.Entry) -> None:
  """Checks that a flagfile has no flag that the sweep sets itself."""
  for argument in command_text.expand(entry.system_name, entry.arguments):
    name = _name_flag(argument)
    if name in (*_NOT_FOR_ALL, *validation.SETTINGS):
      remedy = 'give it to the sweep'
      if name in _NOT_FOR_ALL:
        remedy = 'leave it out'
      raise ValueError(f'--{name} is not for a flagfile of a sweep; {remedy}')


def _name_flag(argument: str) -> str | None:
  """The name in an argument that is a flag, of one dash or two."""
  match = re.match(r'--?([A-Za-z_]\w*)', argument)
  return match and match[1]
