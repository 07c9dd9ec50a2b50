# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains several flagfiles with several seeds and makes one table of them.

  python -m launch.sweep --seeds=0,1,2,3 --output_dir=results/table_1 \
    --program=train_semifl \
    --flagfiles=$(echo launch/flagfiles/semifl/svhn_*.flags | tr ' ' ,)

A flagfile does not say what trains it: --program does, or `program:` in front
of the flagfile, so that programs can be compared:

  python -m launch.sweep --seeds=0,1,2 --total_rounds=10 \
    --flagfiles=train_semifl:my.flags,train_batch_label_semifl:my.flags

Any flag of the training programs, such as --total_rounds or --data_dir, is
passed on to all of them and counts for more than their flagfiles. All is
checked before the first is started.

Each run is a process of the real program. Its folder is
`<output_dir>/<system>_<flagfile>_seed<seed>`, whatever --output_dir its
flagfile names, and what it prints is in the file of that name with `.log`. The
same command goes on where a sweep was interrupted: what is complete is skipped,
the rest is resumed. The table, of complete runs, is kept up to date.
"""

from collections.abc import Mapping, Sequence
import os
import pathlib
import sys

from absl import flags

from launch import program
from launch import run_flags
from launch import seed_flags
from launch.sweeps import display as display_lib
from launch.sweeps import experiments as experiments_lib
from launch.sweeps import flagfiles as flagfiles_lib
from launch.sweeps import processes
from launch.sweeps import table
from tff_semifl.programs import durable_files

_FLAGFILES = flags.DEFINE_list(
  'flagfiles',
  None,
  'What to train, with commas: a flagfile for each experiment, with or without'
  ' the program in front, as train_semifl:my.flags.',
)
_PROGRAM = flags.DEFINE_enum(
  'program',
  None,
  sorted(flagfiles_lib.PROGRAMS),
  'What trains the flagfiles that have no program in front.',
)
_PARALLEL = flags.DEFINE_integer(
  'parallel',
  1,
  'Runs at a time. Each takes all cores and the same GPUs, and memory of its'
  ' own: more than one is for a machine that one run leaves idle.',
  lower_bound=1,
)
_ON_FAILURE = flags.DEFINE_enum(
  'on_failure',
  'stop',
  ['go_on', 'stop'],
  'What to do when a run fails: stop, start no other, those under way go on to'
  ' their end; go_on, train what is left. The exit code is 1 in any case.',
)
_TABLE_FILES = flags.DEFINE_list(
  'table_files',
  None,
  'Where to write the table, with commas; each name ends in .md for Markdown or'
  ' in .csv. By default table.md and table.csv in --output_dir.',
)
flags.register_validator(
  _TABLE_FILES.name,
  lambda files: files is None
  or files
  and all(pathlib.Path(file).suffix in ('.md', '.csv') for file in files),
  message='must each end in .md or .csv',
)

for _system in flagfiles_lib.PROGRAMS.values():
  _system.adopt_flags()
flags.adopt_module_key_flags(seed_flags)

_Sweep = Mapping[flagfiles_lib.Flagfile, Sequence[experiments_lib.Experiment]]


def main() -> None:
  """Runs the program, after flags were parsed."""
  with program.blame(run_flags.OUTPUT_DIR, durable_files.OutputError):
    sweep = _create_sweep()
    experiments = [one for row in sweep.values() for one in row]
    _open_output_dir()
    # Nothing is trained before it is known that all can be written.
    _write_table(sweep)
    watcher = _Watcher(sweep, experiments)
    incomplete = []
    for experiment in experiments:
      if experiment.is_complete():
        watcher.skip(experiment)
      else:
        incomplete.append(experiment)
    try:
      with durable_files.naming(pathlib.Path(run_flags.OUTPUT_DIR.value)):
        failed = processes.run(
          incomplete,
          num_parallel=_PARALLEL.value,
          stop_on_failure=_ON_FAILURE.value == 'stop',
          watcher=watcher,
        )
    finally:
      print(table.to_markdown(_rows(sweep)))
      for path in _table_paths():
        print(f'table: {path}')
  if failed:
    names = ', '.join(experiment.name for experiment in failed)
    num_left = sum(not experiment.is_complete() for experiment in experiments)
    print(
      f'failed: {names}; the same command goes on with the {num_left} of'
      f' {len(experiments)} runs that are not complete',
      file=sys.stderr,
    )
    sys.exit(1)


class _Watcher(display_lib.Display):
  """Shows how it goes, and keeps the table up to date."""

  def __init__(
    self, sweep: _Sweep, experiments: Sequence[experiments_lib.Experiment]
  ):
    super().__init__(experiments, quiet=program.is_quiet())
    self._sweep = sweep

  def end(self, experiment: experiments_lib.Experiment, exit_code: int) -> None:
    super().end(experiment, exit_code)
    _write_table(self._sweep)


def _create_sweep() -> _Sweep:
  seeds = seed_flags.resolve()
  entries = _FLAGFILES.value or []
  with program.blame(_FLAGFILES, ValueError, value=','.join(entries)):
    flagfiles = flagfiles_lib.read_flagfiles(entries, _PROGRAM.value)
  flags_for_all = experiments_lib.flags_for_all()
  sweep = {}
  for flagfile in flagfiles:
    with program.blame(
      _FLAGFILES, ValueError, program.FlagError, value=flagfile.path
    ):
      sweep[flagfile] = experiments_lib.create_experiments(
        flagfile, seeds, flags_for_all, pathlib.Path(run_flags.OUTPUT_DIR.value)
      )
  return sweep


def _open_output_dir() -> None:
  path = pathlib.Path(run_flags.OUTPUT_DIR.value)
  with program.blame(run_flags.OUTPUT_DIR, OSError):
    path.mkdir(parents=True, exist_ok=True)
    if not os.access(path, os.W_OK | os.X_OK):
      raise PermissionError(13, 'Permission denied', str(path))


def _table_paths() -> list[pathlib.Path]:
  if _TABLE_FILES.value is not None:
    return [pathlib.Path(file) for file in _TABLE_FILES.value]
  folder = pathlib.Path(run_flags.OUTPUT_DIR.value)
  return [folder / 'table.md', folder / 'table.csv']


def _rows(sweep: _Sweep) -> list[table.Row]:
  return [
    table.Row(
      flagfile,
      len(experiments),
      [one.read_results() for one in experiments if one.is_complete()],
    )
    for flagfile, experiments in sweep.items()
  ]


def _write_table(sweep: _Sweep) -> None:
  rows = _rows(sweep)
  with program.blame(_TABLE_FILES, durable_files.OutputError):
    for path in _table_paths():
      table.write(rows, path)


if __name__ == '__main__':
  program.run(main)
