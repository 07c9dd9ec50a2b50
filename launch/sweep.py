# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Trains presets or flagfiles with several seeds, and writes a table.

  python -m launch.sweep --seeds=0,1,2,3 --output_dir=results/table_1 \
    --presets='semifl/svhn_*'

  python -m launch.sweep --seeds=0,1,2 --total_rounds=10 \
    --flagfiles=semifl:my.flags,batch_label_semifl:my.flags

Flags of `launch.train`, such as --total_rounds or --data_dir, apply to all runs
and override flagfiles and presets. All runs are checked before the first run
starts.

Each run is a process of `launch.train`. Its folder is
`<output_dir>/<system>_<flagfile>_seed<seed>`, for the --output_dir of the
sweep, and its log has the same name with the suffix `.log`. Names also contain
a varied setting's value, and `validation` if there is a validation split. The
same command resumes an interrupted sweep and skips complete runs. The table has
only complete runs. A failed run does not end the sweep.

--vary and --values train each flagfile or preset with each value of a setting.
With --num_validation, a flag of `launch.train`, runs are evaluated on some of
the server's labeled images instead of the test images. The program then says
which value has the least loss, and how to train with this value:

  python -m launch.sweep --flagfiles=semifl:my.flags --vary=learning_rate \
    --values=0.01,0.03,0.1,0.3,1 --num_validation=20

--print_commands only prints the commands of the runs, for GNU parallel, an
array of SLURM jobs or Ray jobs. After all jobs have ended, the same command
without --print_commands writes the table.
"""

from collections.abc import Mapping, Sequence
import contextlib
import csv
import dataclasses
import io
import pathlib
import shlex
import sys

import tqdm

from tff_semifl import settings
from tff_semifl.cli import command_line
from tff_semifl.cli import parts
from tff_semifl.cli import program
from tff_semifl.cli import sweep_runs
from tff_semifl.experiment import progress
from tff_semifl.files import durable_files
from tff_semifl.results import sweep_table


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sweep(settings.Settings):
  """The settings of this program, in addition to the settings of runs."""

  flagfiles: tuple[str, ...] = settings.setting(
    (),
    'Experiments to train, separated by commas: pairs of system and flagfile,'
    ' such as semifl:my.flags.',
  )
  presets: tuple[str, ...] = settings.setting(
    (),
    'Presets to train, separated by commas, such as semifl/svhn_250_iid; *'
    ' stands for any characters.',
  )
  seeds: parts.Seeds = parts.Seeds()
  vary: str | None = settings.setting(
    None, 'Setting to vary, such as learning_rate.'
  )
  values: tuple[str, ...] = settings.setting(
    (), 'The values of --vary, separated by commas, in order.'
  )
  output_dir: str = settings.setting(
    'results', 'Folder for the folders of all experiments.'
  )
  parallel: int = settings.setting(
    1,
    'Number of concurrent runs, which share cores, GPUs and memory.',
    settings.AT_LEAST_1,
  )
  print_commands: bool = settings.setting(
    False,
    'Print the command of each incomplete run, one per line; do not train or'
    ' write.',
  )

  @property
  def folder(self) -> pathlib.Path:
    """The folder of all experiments."""
    return pathlib.Path(self.output_dir)


_Runs = Mapping[sweep_table.Entry, Sequence[sweep_runs.Run]]


def main(sweep: Sweep, passed_on: Sequence[str]) -> None:
  """Trains incomplete runs, and writes the table."""
  with settings.blame(
    'output_dir', sweep.output_dir, durable_files.OutputError
  ):
    by_entry = _create_runs(sweep, passed_on)
    runs = [run for row in by_entry.values() for run in row]
    incomplete = [run for run in runs if not run.is_complete()]
    if sweep.print_commands:
      for run in incomplete:
        print(shlex.join(run.command))
      return
    with durable_files.naming(sweep.folder):
      sweep.folder.mkdir(parents=True, exist_ok=True)
    # Written before the first run, to check that the file is writable.
    _write_table(sweep, by_entry)
    complete = [run.name for run in runs if run not in incomplete]
    if complete:
      _say(f'complete before: {", ".join(complete)}')
    try:
      with durable_files.naming(sweep.folder):
        failed = _train(sweep, by_entry, incomplete)
    finally:
      print(_write_table(sweep, by_entry))
      print(f'table: {sweep.folder / "table.md"}')
    if runs[0].validates:
      for line in sweep_table.describe_choices(
        _rows(by_entry),
        command_line.spell_commands('python -m launch.train'),
        command_line.read(passed_on, {'num_validation': str})[1],
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
  sweep: Sweep, by_entry: _Runs, runs: Sequence[sweep_runs.Run]
) -> list[sweep_runs.Run]:
  """Trains runs, writes the table after each, and returns failed runs."""
  failed = []
  with (
    contextlib.closing(sweep_runs.execute(runs, sweep.parallel)) as ended,
    # None shows the bar on terminals only.
    tqdm.tqdm(
      total=len(runs), unit='run', disable=progress.is_quiet() or None
    ) as bar,
  ):
    for run, exit_code in ended:
      if exit_code is None:
        _say(f'{run.name}: started, log: {run.log_path}')
        continue
      bar.update()
      _write_table(sweep, by_entry)
      if not exit_code and run.is_complete():
        results = run.read()
        _say(
          f'{run.name}: accuracy {results.accuracy:.1%},'
          f' {results.minutes:.1f} minutes'
        )
        continue
      failed.append(run)
      problem = (
        f'ended well, but {run.folder} lacks the last round in its metrics.csv,'
        ' or its model'
      )
      if exit_code:
        problem = sweep_runs.describe_failure(run, exit_code)
      tqdm.tqdm.write(f'{run.name}: {problem}', file=sys.stderr)
  return failed


def _say(text: str) -> None:
  """Prints a line above the progress bar, unless progress is hidden."""
  if not progress.is_quiet():
    tqdm.tqdm.write(text, file=sys.stderr)


def _create_runs(sweep: Sweep, passed_on: Sequence[str]) -> _Runs:
  seeds = sweep.seeds.read(0)
  sweep_runs.check_passed_on(passed_on)
  with settings.blame('flagfiles', sweep.flagfiles or None):
    entries = [
      *sweep_runs.read_flagfiles(sweep.flagfiles),
      *sweep_runs.find_presets(sweep.presets),
    ]
    sweep_runs.check_names(entries)
  with settings.blame('values', sweep.values):
    if (sweep.vary is None) != (not sweep.values):
      raise ValueError('give --vary, a setting, and --values of it, or neither')
  if sweep.vary is not None:
    with settings.blame('vary', sweep.vary):
      entries = sweep_runs.vary(entries, sweep.vary, sweep.values, passed_on)
  return {
    entry: sweep_runs.create_runs(entry, seeds, passed_on, sweep.folder)
    for entry in entries
  }


def _rows(by_entry: _Runs) -> list[sweep_table.Row]:
  return [
    sweep_table.Row(
      entry,
      [run.read() if run.is_complete() else None for run in runs],
      runs[0].task,
    )
    for entry, runs in by_entry.items()
  ]


def _write_table(sweep: Sweep, by_entry: _Runs) -> str:
  """Writes table.md and table.csv, and returns the table in Markdown."""
  (first, *_), *_ = by_entry.values()
  kind = 'validation' if first.validates else 'test'
  table, numbers = sweep_table.tabulate(_rows(by_entry), kind)
  text = io.StringIO()
  writer = csv.DictWriter(text, numbers[0], lineterminator='\n')
  writer.writeheader()
  writer.writerows(numbers)
  for name, content in (('md', f'{table}\n'), ('csv', text.getvalue())):
    durable_files.write_text(sweep.folder / f'table.{name}', content)
  return table


if __name__ == '__main__':
  program.run(main, Sweep(), takes=lambda _: True, interrupted=program.RESUMES)
