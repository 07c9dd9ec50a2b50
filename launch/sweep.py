# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains several presets or flagfiles with several seeds, and keeps a table.

  python -m launch.sweep --seeds=0,1,2,3 --output_dir=results/table_1 \
    --presets='semifl/svhn_*'

  python -m launch.sweep --seeds=0,1,2 --total_rounds=10 \
    --flagfiles=semifl:my.flags,batch_label_semifl:my.flags

Flags of `launch.train`, such as --total_rounds or --data_dir, are passed on to
all runs and take precedence over those of a flagfile or a preset. All runs are
checked before the first one starts.

Each run is a process of `launch.train`. Its folder is
`<output_dir>/<system>_<flagfile>_seed<seed>`, also if the flagfile has another
--output_dir, and its output is in the file of the same name with the suffix
`.log`. The same command resumes an interrupted sweep: complete runs are
skipped, and the others resumed. The table has the complete runs, and is updated
after each run.

With --print_commands, the commands of these processes are printed instead, for
GNU parallel or an array of SLURM jobs. The same command without it makes the
table when they have ended.

With --cluster, they are processes of the machines of a Ray cluster, as many at
a time as these have CPUs and GPUs for. The machines have Python, its packages
and the files, --output_dir above all, at the same paths.
"""

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import os
import pathlib
import shlex
import sys

from absl import flags

from tff_semifl import runtime
from tff_semifl.launch import program
from tff_semifl.launch import seeds as seeds_lib
from tff_semifl.launch import sweep_experiments
from tff_semifl.programs import durable_files
from tff_semifl.sweeps import display as display_lib
from tff_semifl.sweeps import entries as entries_lib
from tff_semifl.sweeps import experiments as experiments_lib
from tff_semifl.sweeps import processes
from tff_semifl.sweeps import table

_FLAGFILES = flags.DEFINE_list(
  'flagfiles',
  [],
  'Experiments to train, with commas: each a system and a flagfile, such as'
  ' semifl:my.flags.',
)
_PRESETS = flags.DEFINE_list(
  'presets',
  [],
  'Presets to train, with commas, such as semifl/svhn_250_iid; * stands for any'
  ' characters.',
)
_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', 'results', 'Folder that holds the folders of all experiments.'
)
_PARALLEL = flags.DEFINE_integer(
  'parallel',
  None,
  'Number of runs at the same time, by default 1. Each uses all cores and the'
  ' same GPUs, and has its own memory: choose more than one only on a machine'
  ' that one run does not keep busy. With --cluster, the most at a time, by'
  ' default as many as it has room for.',
  lower_bound=1,
)
_CLUSTER = flags.DEFINE_string(
  'cluster',
  None,
  'Ray cluster whose machines train the runs, as host:port; auto for the one'
  ' that this machine belongs to; local for one of this machine alone, whose'
  ' runs have a share of its CPUs and GPUs each. By default runs are processes'
  ' of this machine.',
)
_CPUS_PER_RUN = flags.DEFINE_float(
  'cpus_per_run',
  None,
  'With --cluster, CPU cores of each run, which decide how many a machine'
  ' trains at a time. By default as many as the machine has that has the'
  ' fewest.',
  lower_bound=0.01,
)
_GPUS_PER_RUN = flags.DEFINE_float(
  'gpus_per_run',
  None,
  'With --cluster, GPUs of each run, which sees no others; 0.5 lets two runs'
  ' share one. By default none.',
  lower_bound=0.01,
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
  'Files for the table, with commas; each ends in .md for Markdown or in .csv.'
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


for _flag in (_CPUS_PER_RUN, _GPUS_PER_RUN):
  flags.register_multi_flags_validator(
    [_CLUSTER, _flag],
    lambda values, name=_flag.name: values['cluster'] is not None
    or values[name] is None,
    message=f'--{_flag.name} is for --cluster',
  )


def main(passed_on: Sequence[str]) -> None:
  """Trains the runs that are not complete.

  Args:
    passed_on: Flags to pass on to all runs.
  """
  with program.blame(_OUTPUT_DIR, durable_files.OutputError):
    sweep = _create_sweep(passed_on)
    experiments = [one for row in sweep.values() for one in row]
    if _PRINT_COMMANDS.value:
      for experiment in experiments:
        if not experiment.is_complete():
          print(shlex.join(experiment.command))
      return
    _open_output_dir()
    # Written before the first run, to find out that it can be written.
    _write_table(sweep)
    watcher = _Watcher(sweep, experiments)
    incomplete = []
    for experiment in experiments:
      if experiment.is_complete():
        watcher.skip(experiment)
      else:
        incomplete.append(experiment)
    try:
      with durable_files.naming(pathlib.Path(_OUTPUT_DIR.value)):
        with _open_place() as place:
          failed = processes.run(
            incomplete,
            place=place,
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


@contextlib.contextmanager
def _open_place() -> Iterator[processes.Place]:
  """Makes the place where runs are trained.

  The program ends with a line if that cannot be had, or cannot train.
  """
  if _CLUSTER.value is None:
    yield processes.ThisMachine(_PARALLEL.value or 1)
    return
  address = None if _CLUSTER.value == 'local' else _CLUSTER.value
  with program.blame(_CLUSTER, runtime.WorkerError, ModuleNotFoundError):
    with runtime.ray_connection(address):
      # It imports Ray, which is not always installed.
      from tff_semifl.sweeps import ray_cluster

      with program.blame(_CLUSTER, ray_cluster.ClusterError):
        yield ray_cluster.RayCluster(
          cpus_per_job=_CPUS_PER_RUN.value,
          gpus_per_job=_GPUS_PER_RUN.value or 0,
          num_parallel=_PARALLEL.value,
        )


class _Watcher(display_lib.Display):
  """A display of progress that also updates the table after each run."""

  def __init__(
    self, sweep: _Sweep, experiments: Sequence[experiments_lib.Experiment]
  ):
    super().__init__(experiments, quiet=program.is_quiet())
    self._sweep = sweep

  def end(self, experiment: experiments_lib.Experiment, exit_code: int) -> None:
    super().end(experiment, exit_code)
    _write_table(self._sweep)


def _create_sweep(passed_on: Sequence[str]) -> _Sweep:
  seeds = seeds_lib.parse(0)
  sweep_experiments.check_passed_on(passed_on)
  with program.blame(_FLAGFILES, ValueError):
    entries = entries_lib.read_flagfiles(_FLAGFILES.value)
  with program.blame(_PRESETS, ValueError):
    entries.extend(entries_lib.find_presets(_PRESETS.value))
  with program.blame(_FLAGFILES, ValueError, value=''):
    if not entries:
      raise ValueError('name at least one, or one of --presets')
    entries_lib.check_names(entries)
  return {
    entry: sweep_experiments.create_experiments(
      entry, seeds, passed_on, pathlib.Path(_OUTPUT_DIR.value)
    )
    for entry in entries
  }


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


def _rows(sweep: _Sweep) -> list[table.Row]:
  return [
    table.Row(
      entry,
      len(experiments),
      [one.read_results() for one in experiments if one.is_complete()],
    )
    for entry, experiments in sweep.items()
  ]


def _write_table(sweep: _Sweep) -> None:
  rows = _rows(sweep)
  with program.blame(_TABLE_FILES, durable_files.OutputError):
    for path in _table_paths():
      table.write(rows, path)


def parse(argv: Sequence[str]) -> list[str]:
  """Parses the flags of the sweep.

  Args:
    argv: The command line.

  Returns:
    The other flags, which are passed on to the runs.
  """
  _, *passed_on = flags.FLAGS(argv, known_only=True)
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
