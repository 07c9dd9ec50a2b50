# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The runs of a sweep: all are checked first, then run as child processes.

Runs are checked by the code of `launch.train`, with the same flags. Checks that
need the data happen in the runs. No run outlives this process: interrupts are
passed on to all runs, and all runs are killed if this process is killed.
"""

import collections
from collections.abc import Iterator, Sequence
import dataclasses
import fnmatch
import pathlib
import shlex
import signal
import subprocess
import sys
import time

from tff_semifl import settings
from tff_semifl.cli import command_line
from tff_semifl.cli import commands
from tff_semifl.cli import program
from tff_semifl.experiment import command as command_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import presets
from tff_semifl.experiment import system_registry
from tff_semifl.results import sweep_table
from tff_semifl.runtime import tied_process
from tff_semifl.settings import references

_POLL_SECONDS = 0.2
_NUM_LOG_LINES = 10
_TRAIN = f'{references.find_package("launch")}.train'
# A sweep sets seed and name of each run; dry_run does not apply.
_NOT_FOR_ALL = ('seed', 'experiment_name', 'dry_run')
# A sweep cannot vary the output folder, the validation split, or groups of
# flags.
_NOT_TO_VARY = (
  *_NOT_FOR_ALL,
  'output_dir',
  'num_validation',
  'flagfile',
  'preset',
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
  """A command that trains with one flagfile or preset and one seed.

  `task` identifies the task and its settings; runs of the same `task` have the
  same test images.
  """

  command: tuple[str, ...]
  folder: pathlib.Path
  total_rounds: int
  task: str = ''
  validates: bool = False

  def read(self) -> sweep_table.Results:
    """Reads the latest results."""
    return sweep_table.read_results(self.folder / 'metrics.csv')

  @property
  def name(self) -> str:
    """The name of the run in messages."""
    return self.folder.name

  @property
  def log_path(self) -> pathlib.Path:
    """The path of the run's log."""
    return self.folder.with_name(f'{self.name}.log')

  def is_complete(self) -> bool:
    """Whether all rounds have run and the model has been exported."""
    return self.read().round_num >= self.total_rounds and bool(
      experiment_folder.find_models(self.folder / 'export')
    )


def read_flagfiles(names: Sequence[str]) -> list[sweep_table.Entry]:
  """Creates a sweep's entry for each name 'system:flagfile'."""
  found = []
  for name in names:
    system_name, colon, path = name.rpartition(':')
    if not colon:
      raise ValueError(f'{name} names no system; write semifl:{name}')
    system_registry.load(system_name)
    short, stem = system_name.rpartition(':')[2], pathlib.Path(path).stem
    label = stem if stem.startswith(short) else f'{short}_{stem}'
    found.append(sweep_table.Entry(label, system_name, 'flagfile', path))
  return found


def find_presets(patterns: Sequence[str]) -> list[sweep_table.Entry]:
  """Creates a sweep's entry for each preset that matches a pattern."""
  # If a pattern has no match, `load` suggests similar presets.
  found = [
    presets.load(name)
    for pattern in patterns
    for name in fnmatch.filter(presets.names(), pattern) or [pattern]
  ]
  return [
    sweep_table.Entry(
      preset.name.replace('/', '_'),
      preset.system_name,
      'preset',
      preset.name,
      preset.paper,
    )
    for preset in found
  ]


def check_names(entries: Sequence[sweep_table.Entry]) -> None:
  """Checks that there are entries, and that their names differ."""
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
  """Combines each entry with each value of a setting."""
  if name in _NOT_TO_VARY:
    raise ValueError('a sweep cannot vary this setting; --seeds varies seeds')
  if len(set(values)) < len(values):
    raise ValueError('each of --values is trained with once')
  if _find(passed_on, [name]):
    raise ValueError(f'leave --{name} out')
  return [
    entry._replace(varied=(name, value), paper=None)
    for entry in entries
    for value in values
  ]


def check_passed_on(arguments: Sequence[str]) -> None:
  """Refuses flags that are not for all runs of a sweep, such as --seed."""
  found = _find(arguments, _NOT_FOR_ALL)
  if found:
    remedy = 'give --seeds' if found == 'seed' else 'leave it out'
    raise settings.SettingError(
      found, None, f'a sweep has none for all; {remedy}'
    )


def create_runs(
  entry: sweep_table.Entry,
  seeds: Sequence[int],
  arguments: Sequence[str],
  output_dir: pathlib.Path,
) -> list[Run]:
  """The runs of an entry; `arguments` override its flagfile or preset."""
  varied = [] if entry.varied is None else [f'--{"=".join(entry.varied)}']
  arguments = [*entry.arguments, *arguments, *varied]
  try:
    _check_source(entry)
    command = settings.change(
      commands.parse(entry.system_name, arguments),
      {'output_dir': str(output_dir)},
    )
    command.check()
    if command.experiment.selection.stop_after is not None:
      raise ValueError(
        'flag --stop_after: runs of a sweep must have the same number of'
        ' rounds; leave it out'
      )
    return [_create_run(entry, command, seed, arguments) for seed in seeds]
  except (ValueError, command_line.UsageError) as error:
    shown = program.describe(error) or str(error)
    # Otherwise an error about the source would name the source twice.
    shown = shown.removeprefix(f'flag --{entry.kind}={entry.source}: ')
    raise settings.SettingError(
      f'{entry.kind}s', entry.source, shown
    ) from error


def _create_run(
  entry: sweep_table.Entry,
  command: command_lib.Command,
  seed: int,
  arguments: Sequence[str],
) -> Run:
  validates = command.experiment.validates
  name = f'{entry.label}_{"validation_" if validates else ""}seed{seed}'
  command = settings.change(command, {'seed': seed, 'experiment_name': name})
  # There is nothing to check in a new folder: the run will record its versions.
  if command.run.path.exists():
    command.check_folder()
  output_dir = pathlib.Path(command.run.output_dir)
  return Run(
    command=(
      *(sys.executable, '-m', _TRAIN, entry.system_name),
      *arguments,
      f'--seed={seed}',
      f'--output_dir={output_dir}',
      f'--experiment_name={name}',
    ),
    folder=output_dir / name,
    total_rounds=command.experiment.system.total_rounds,
    task=repr(command.experiment.data.task),
    validates=validates,
  )


def _check_source(entry: sweep_table.Entry) -> None:
  """Checks that a flagfile or preset has no flag that the sweep sets."""
  found = _find(
    commands.expand(entry.system_name, entry.arguments),
    [*_NOT_FOR_ALL, 'num_validation'],
  )
  if found:
    remedy = 'leave it out' if found in _NOT_FOR_ALL else 'give it to the sweep'
    raise ValueError(f'--{found} is not for a flagfile of a sweep; {remedy}')


def _find(arguments: Sequence[str], names: Sequence[str]) -> str | None:
  """The first of `names` among the flags; None if none is given."""
  given, _ = command_line.read(
    arguments, {name: bool if name == 'dry_run' else str for name in names}
  )
  return next(iter(given), None)


def execute(
  runs: Sequence[Run], num_parallel: int
) -> Iterator[tuple[Run, int | None]]:
  """Executes runs; yields each run with None at its start, then its exit code.

  If the iterator is closed or interrupted, current runs get SIGTERM and are
  awaited; a second interrupt kills all runs.
  """
  waiting = collections.deque(runs)
  running: dict[Run, subprocess.Popen] = {}
  try:
    while waiting or running:
      while waiting and len(running) < num_parallel:
        run = waiting.popleft()
        running[run] = _start(run)
        yield run, None
      time.sleep(_POLL_SECONDS)
      for run in [run for run in running if running[run].poll() is not None]:
        yield run, running.pop(run).returncode
  finally:
    for process in running.values():
      process.terminate()
    if running:
      names = ', '.join(run.name for run in running)
      print(f'\nending {names}; interrupt again to kill them', file=sys.stderr)
    # Polled, because `wait` would delay a second interrupt.
    while any(process.poll() is None for process in running.values()):
      time.sleep(_POLL_SECONDS)


def _start(run: Run) -> subprocess.Popen:
  with run.log_path.open('ab') as log:
    log.write(f'$ {shlex.join(run.command)}\n'.encode())
    log.flush()
    return subprocess.Popen(
      # The thread that starts a run must live until the run has ended.
      tied_process.tied_command(run.command),
      stdin=subprocess.DEVNULL,
      stdout=log,
      stderr=log,
      # The run does not get the terminal's Ctrl-C, but one signal of this
      # process; a second signal would kill the run at once.
      start_new_session=True,
    )


def describe_failure(run: Run, exit_code: int) -> str:
  """Describes a run's failure, with the end of the log."""
  how = f'exit code {exit_code}'
  if exit_code < 0:
    how = f'signal {-exit_code} ({signal.strsignal(-exit_code)})'
  lines = run.log_path.read_text(errors='replace').splitlines()
  end = '\n'.join(f'  {line}' for line in lines[-_NUM_LOG_LINES:])
  return f'failed with {how}; the end of its log {run.log_path}:\n{end}'
