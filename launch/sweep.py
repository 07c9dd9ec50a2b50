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

--print_commands prints the commands of the runs instead, for GNU parallel, an
array of SLURM jobs or Ray jobs. The same command without --print_commands makes
the table when these have ended.
"""

from collections.abc import Mapping, Sequence
import contextlib
import csv
import io
import pathlib
import shlex
import sys

from absl import flags
import tqdm

from tff_semifl.cli import command_text
from tff_semifl.cli import parallel_runs
from tff_semifl.cli import program
from tff_semifl.cli import repeated_runs
from tff_semifl.cli import sweep_runs
from tff_semifl.files import durable_files
from tff_semifl.results import sweep_table

_FLAGFILES = flags.DEFINE_list(
  'flagfiles',
  [],
  'Experiments to train, separated by commas: each a system and a flagfile,'
  ' such as semifl:my.flags.',
)
_PRESETS = flags.DEFINE_list(
  'presets',
  [],
  'Presets to train, separated by commas, such as semifl/svhn_250_iid; * stands'
  ' for any characters.',
)
_VARY = flags.DEFINE_string(
  'vary', None, 'Setting to vary, such as learning_rate.'
)
_VALUES = flags.DEFINE_list(
  'values', [], 'The values of --vary, separated by commas, in order.'
)
_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', 'results', 'Folder that holds the folders of all experiments.'
)
_PARALLEL = flags.DEFINE_integer(
  'parallel',
  1,
  'Number of runs at the same time. Each uses all cores, the same GPUs, and'
  ' memory of its own: choose more than 1 only on a machine that one run does'
  ' not keep busy.',
  lower_bound=1,
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

_Sweep = Mapping[sweep_table.Entry, Sequence[sweep_runs.Run]]


def main(passed_on: Sequence[str]) -> None:
  """Trains incomplete runs, and writes the table."""
  with program.blame(_OUTPUT_DIR, durable_files.OutputError):
    sweep = _create_sweep(passed_on)
    runs = [run for row in sweep.values() for run in row]
    incomplete = [run for run in runs if not run.is_complete()]
    if _PRINT_COMMANDS.value:
      for run in incomplete:
        print(shlex.join(run.command))
      return
    output_dir = pathlib.Path(_OUTPUT_DIR.value)
    with durable_files.naming(output_dir):
      output_dir.mkdir(parents=True, exist_ok=True)
    # Written before the first run, to check that the table is writable.
    _write_table(sweep)
    complete = [run.name for run in runs if run not in incomplete]
    if complete:
      _say(f'complete before: {", ".join(complete)}')
    try:
      with durable_files.naming(output_dir):
        failed = _train(sweep, incomplete)
    finally:
      print(_write_table(sweep))
      for path in _table_paths():
        print(f'table: {path}')
    if runs[0].validates:
      for line in sweep_table.describe_choices(
        _rows(sweep),
        command_text.spell_commands('python -m launch.train'),
        sweep_runs.without_validation(passed_on),
        [run.entry.label for run in failed],
      ):
        print(line)
  if failed:
    names = ', '.join(run.name for run in failed)
    num_left = sum(not run.is_complete() for run in runs)
    program.end(
      f'failed: {names}; the same command goes on with the {num_left} of'
      f' {len(runs)} runs that are not complete'
    )


def _train(
  sweep: _Sweep, runs: Sequence[sweep_runs.Run]
) -> list[sweep_runs.Run]:
  """Trains runs, writes the table after each, and returns failed runs."""
  failed = []
  with (
    contextlib.closing(
      parallel_runs.run(
        runs,
        num_parallel=_PARALLEL.value,
        stop_on_failure=_ON_FAILURE.value == 'stop',
        say=_say,
      )
    ) as ended,
    tqdm.tqdm(
      total=len(runs),
      unit='run',
      # None shows the bar in a terminal only.
      disable=True if program.is_quiet() else None,
    ) as bar,
  ):
    for run, exit_code in ended:
      _write_table(sweep)
      if not exit_code and run.is_complete():
        results = run.read()
        _say(
          f'{run.name}: accuracy {results.accuracy:.1%},'
          f' {results.minutes:.1f} minutes'
        )
      else:
        failed.append(run)
        problem = (
          f'ended well, but {run.folder} lacks the last round in its'
          ' metrics.csv, or its model'
        )
        if exit_code:
          problem = parallel_runs.describe_failure(run, exit_code)
        bar.write(f'{run.name}: {problem}', file=sys.stderr)
      bar.update()
  return failed


def _say(text: str) -> None:
  """Prints a line above the progress bar, unless progress is hidden."""
  if not program.is_quiet():
    tqdm.tqdm.write(text, file=sys.stderr)


def parse(argv: Sequence[str]) -> list[str]:
  """Parses the sweep's flags, and returns the other flags, for the runs."""
  return program.parse_flags(argv, known_only=True)


def _create_sweep(passed_on: Sequence[str]) -> _Sweep:
  seeds = repeated_runs.parse_seeds(0)
  sweep_runs.check_passed_on(passed_on)
  with program.blame(_FLAGFILES, ValueError):
    entries = sweep_runs.read_flagfiles(_FLAGFILES.value)
  with program.blame(_PRESETS, ValueError):
    entries.extend(sweep_runs.find_presets(_PRESETS.value))
  with program.blame(_FLAGFILES, ValueError, value=''):
    sweep_runs.check_names(entries)
  name, values = _VARY.value, _VALUES.value
  with program.blame(_VALUES, ValueError):
    if (name is None) != (not values):
      raise ValueError('give --vary, a setting, and --values of it, or neither')
  if name is not None:
    with program.blame(_VARY, ValueError):
      entries = sweep_runs.vary(entries, name, values, passed_on)
  output_dir = pathlib.Path(_OUTPUT_DIR.value)
  return {
    entry: sweep_runs.create_runs(entry, seeds, passed_on, output_dir)
    for entry in entries
  }


def _table_paths() -> list[pathlib.Path]:
  if _TABLE_FILES.value is not None:
    return [pathlib.Path(file) for file in _TABLE_FILES.value]
  folder = pathlib.Path(_OUTPUT_DIR.value)
  return [folder / 'table.md', folder / 'table.csv']


def _rows(sweep: _Sweep) -> list[sweep_table.Row]:
  return [
    sweep_table.Row(entry, [run.read_complete() for run in runs], runs[0].task)
    for entry, runs in sweep.items()
  ]


def _write_table(sweep: _Sweep) -> str:
  """Writes the table's files, and returns the table in Markdown."""
  (first, *_), *_ = sweep.values()
  tabulate = (
    sweep_table.tabulate_validation if first.validates else sweep_table.tabulate
  )
  table, numbers = tabulate(_rows(sweep))
  text = io.StringIO()
  writer = csv.DictWriter(text, numbers[0], lineterminator='\n')
  writer.writeheader()
  writer.writerows(numbers)
  with program.blame(_TABLE_FILES, durable_files.OutputError):
    for path in _table_paths():
      content = text.getvalue() if path.suffix == '.csv' else f'{table}\n'
      with durable_files.naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with durable_files.replacing(path) as file:
          file.write(content.encode())
  return table


if __name__ == '__main__':
  program.run(
    main, parse=lambda argv: [parse(argv)], interrupted=program.RESUMES
  )
