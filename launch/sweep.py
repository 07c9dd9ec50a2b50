# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Trains several presets or flagfiles with several seeds, and keeps a table.

  python -m launch.sweep --seeds=0,1,2,3 --output_dir=results/table_1 \
    --presets='semifl/svhn_*'

  python -m launch.sweep --seeds=0,1,2 --total_rounds=10 \
    --flagfiles=semifl:my.flags,batch_label_semifl:my.flags

Flags of `launch.train`, such as --total_rounds or --data_dir, apply to all runs
and override flagfiles and presets. All runs are checked before the first one
starts.

Each run is a process of `launch.train`, with the folder
`<output_dir>/<system>_<flagfile>_seed<seed>`, whatever --output_dir a flagfile
has, and a log of the same name with the suffix `.log`. The same command resumes
an interrupted sweep and skips complete runs. The table has the complete runs,
and is updated after each. Names also have the value of a varied setting, and
`validation` for runs that validate.

--vary and --values train each entry with each value of a setting. With
--num_validation, a flag of `launch.train`, runs are evaluated on some of the
server's labeled images in place of the test images, and the program says which
value has the least loss, and how to train with this value:

  python -m launch.sweep --flagfiles=semifl:my.flags --vary=learning_rate \
    --values=0.01,0.03,0.1,0.3,1 --num_validation=20 --on_failure=go_on

--print_commands prints the commands of the runs instead, for GNU parallel or an
array of SLURM jobs. The same command without --print_commands makes the table
when these have ended.

--cluster runs the processes on the machines of a Ray cluster, as many at a time
as their CPUs and GPUs allow. The machines need Python, its packages and the
files, --output_dir above all, at the same paths.
"""

from collections.abc import Mapping, Sequence
import os
import pathlib
import shlex
import sys
import types

from absl import flags

from tff_semifl.command_line import command_text
from tff_semifl.command_line import program
from tff_semifl.command_line import seeds as seeds_lib
from tff_semifl.command_line import sweep_entries
from tff_semifl.command_line import sweep_experiments
from tff_semifl.command_line import sweep_place
from tff_semifl.files import durable_files
from tff_semifl.sweeps import display as display_lib
from tff_semifl.sweeps import entries as entries_lib
from tff_semifl.sweeps import experiments as experiments_lib
from tff_semifl.sweeps import processes
from tff_semifl.sweeps import table
from tff_semifl.sweeps import validation_table

_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', 'results', 'Folder that holds the folders of all experiments.'
)
_ON_FAILURE = flags.DEFINE_enum(
  'on_failure',
  'stop',
  ['go_on', 'stop'],
  'What to do if a run fails: stop starts no other run, but lets running ones'
  ' end; go_on trains the remaining runs. The exit code is 1 in either case.',
)
_PRINT_COMMANDS = flags.DEFINE_bool(
  'print_commands',
  False,
  'Print the command of each run that is not complete, one a line, and run and'
  ' write nothing.',
)
_TABLE_FILES = flags.DEFINE_list(
  'table_files',
  None,
  'Comma-separated files for the table; each ends in .md (Markdown) or .csv.'
  ' By default table.md and table.csv in --output_dir.',
)
flags.register_validator(
  _TABLE_FILES.name,
  lambda files: files is None
  or files
  and all(pathlib.Path(file).suffix in ('.md', '.csv') for file in files),
  message='must each end in .md or .csv',
)

_Sweep = Mapping[entries_lib.Entry, Sequence[experiments_lib.Experiment]]


def main(passed_on: Sequence[str]) -> None:
  """Trains the runs that are not complete."""
  with program.blame(_OUTPUT_DIR, durable_files.OutputError):
    sweep = _create_sweep(passed_on)
    experiments = _list(sweep)
    if _PRINT_COMMANDS.value:
      for experiment in experiments:
        if not experiment.is_complete():
          print(shlex.join(experiment.command))
      return
    _open_output_dir()
    # Written before the first run, to find out whether it is writable.
    _write_table(sweep)
    watcher = _Watcher(sweep, experiments)
    incomplete = []
    for experiment in experiments:
      if experiment.is_complete():
        watcher.skip(experiment)
      else:
        incomplete.append(experiment)
    with sweep_place.open_place(len(incomplete)) as place:
      try:
        with durable_files.naming(pathlib.Path(_OUTPUT_DIR.value)):
          failed = processes.run(
            incomplete,
            place=place,
            stop_on_failure=_ON_FAILURE.value == 'stop',
            watcher=watcher,
          )
        failed = [*failed, *watcher.lost]
      finally:
        print(_tables(sweep).to_markdown(_rows(sweep)))
        for path in _table_paths():
          print(f'table: {path}')
    if _validates(sweep):
      for line in validation_table.describe_choices(
        _rows(sweep),
        command_text.spell_commands('python -m launch.train'),
        sweep_experiments.without_validation(passed_on),
        [one.entry.label for one in failed],
      ):
        print(line)
  for experiment in watcher.lost:
    print(
      f'{experiment.name}: ended well, but {experiment.folder} lacks the last'
      ' round in its metrics.csv, or its model',
      file=sys.stderr,
    )
  if failed:
    names = ', '.join(experiment.name for experiment in failed)
    num_left = sum(not experiment.is_complete() for experiment in experiments)
    program.end(
      f'failed: {names}; the same command goes on with the {num_left} of'
      f' {len(experiments)} runs that are not complete'
    )


class _Watcher(display_lib.Display):
  """A display of progress that also updates the table after each run."""

  def __init__(
    self, sweep: _Sweep, experiments: Sequence[experiments_lib.Experiment]
  ):
    super().__init__(experiments, quiet=program.is_quiet())
    self._sweep = sweep
    self.lost = []

  def end(self, experiment: experiments_lib.Experiment, exit_code: int) -> None:
    super().end(experiment, exit_code)
    if not exit_code and not experiment.is_complete():
      self.lost.append(experiment)
    _write_table(self._sweep)


def _create_sweep(passed_on: Sequence[str]) -> _Sweep:
  seeds = seeds_lib.parse(0)
  sweep_experiments.check_passed_on(passed_on)
  return {
    entry: sweep_experiments.create_experiments(
      entry, seeds, passed_on, pathlib.Path(_OUTPUT_DIR.value)
    )
    for entry in sweep_entries.parse(passed_on)
  }


def _list(sweep: _Sweep) -> list[experiments_lib.Experiment]:
  return [one for row in sweep.values() for one in row]


def _validates(sweep: _Sweep) -> bool:
  return any(one.validates for one in _list(sweep))


def _open_output_dir() -> None:
  path = pathlib.Path(_OUTPUT_DIR.value)
  with program.blame(_OUTPUT_DIR, OSError):
    path.mkdir(parents=True, exist_ok=True)
    if not os.access(path, os.W_OK | os.X_OK):
      raise PermissionError(13, 'Permission denied', str(path))


def _table_paths() -> list[pathlib.Path]:
  if _TABLE_FILES.value is not None:
    return [pathlib.Path(file) for file in _TABLE_FILES.value]
  folder = pathlib.Path(_OUTPUT_DIR.value)
  return [folder / 'table.md', folder / 'table.csv']


def _tables(sweep: _Sweep) -> types.ModuleType:
  return validation_table if _validates(sweep) else table


def _rows(sweep: _Sweep) -> list[table.Row]:
  kind = experiments_lib.Experiment
  read = kind.read_validation if _validates(sweep) else kind.read_results
  return [
    table.Row(
      entry,
      [read(one) if one.is_complete() else None for one in experiments],
      experiments[0].task,
    )
    for entry, experiments in sweep.items()
  ]


def _write_table(sweep: _Sweep) -> None:
  tables, rows = _tables(sweep), _rows(sweep)
  with program.blame(_TABLE_FILES, durable_files.OutputError):
    for path in _table_paths():
      if path.suffix == '.csv':
        text = tables.to_csv(rows)
      else:
        text = f'{tables.to_markdown(rows)}\n'
      table.write(text, path)


def parse(argv: Sequence[str]) -> list[str]:
  """Parses the sweep's flags, and returns the other flags, for the runs."""
  _, *passed_on = program.parse_flags(argv, known_only=True)
  return passed_on


if __name__ == '__main__':
  _PASSED_ON = []

  def _parse(argv: Sequence[str]) -> Sequence[str]:
    _PASSED_ON[:] = parse(argv)
    return argv[:1]

  program.run(
    lambda: main(_PASSED_ON),
    parse=_parse,
    interrupted=program.RESUMES,
  )
