# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The experiments of a sweep: flagfiles times seeds, checked before any runs.

Each is checked as its program does it, with the same flags and the same code,
in this process: what is mistaken in the last of them shows before the first has
begun. What only the data can tell is left to the program.
"""

from collections.abc import Sequence
import dataclasses
import pathlib
import sys

from absl import flags

# A context manager that puts flags back; absl has it with its test tools.
from absl.testing import flagsaver

from launch import experiment as experiment_lib
from launch import program
from launch import run_flags
from launch import runtimes
from launch import settings as settings_lib
from launch.sweeps import flagfiles as flagfiles_lib
from launch.sweeps import processes
from tff_semifl.programs import results as results_lib

# Each experiment of a sweep has its own, or none.
_NOT_FOR_ALL = ('seed', 'experiment_name', 'dry_run')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment(processes.Job):
  """A flagfile and a seed.

  Attributes:
    flagfile: The flagfile.
    folder: Where its results are.
    total_rounds: The round that comes last.
  """

  flagfile: flagfiles_lib.Flagfile
  folder: pathlib.Path
  total_rounds: int

  def read_results(self) -> results_lib.Results:
    """Returns what it has reached so far.

    Raises:
      durable_files.OutputError: If the folder holds something else.
    """
    return results_lib.read_results(self.folder / 'metrics.csv')

  def is_complete(self) -> bool:
    """Whether all rounds were run and the model was exported.

    Raises:
      durable_files.OutputError: If the folder holds something else.
    """
    return (
      self.read_results().round_num >= self.total_rounds
      and (self.folder / 'export' / 'saved_model.pb').exists()
    )


def flags_for_all() -> list[str]:
  """Returns the flags of training programs that the sweep itself was given.

  Raises:
    program.FlagError: If there is one that each experiment has its own of.
  """
  names = {
    name
    for system in flagfiles_lib.PROGRAMS.values()
    for name in system.flag_values()
    if flags.FLAGS[name].present
  }
  for name in ('experiment_name', 'dry_run'):
    if name in names:
      raise program.FlagError(f'flag --{name}: a sweep has none; leave it out')
  return [
    flags.FLAGS[name].serialize()
    for name in sorted(names - {*_NOT_FOR_ALL, run_flags.OUTPUT_DIR.name})
  ]


def create_experiments(
  flagfile: flagfiles_lib.Flagfile,
  seeds: Sequence[int],
  arguments: Sequence[str],
  output_dir: pathlib.Path,
) -> list[Experiment]:
  """Returns the experiments of a flagfile, one for each seed.

  Args:
    flagfile: The flagfile.
    seeds: The seeds.
    arguments: More flags, which count for more than those of the flagfile.
    output_dir: The folder for the folders of all experiments.

  Raises:
    ValueError: If its program cannot take these flags.
    program.FlagError: If it cannot work with them, or if the folder of an
      experiment cannot be written to, holds another one, or is in use.
  """
  arguments = [f'--flagfile={flagfile.path}', *arguments]
  with flagsaver.flagsaver():
    _parse(flagfile, arguments)
    for name in _NOT_FOR_ALL:
      if flags.FLAGS[name].present:
        raise ValueError(
          f'--{name} is not for a flagfile of a sweep; leave it out'
        )
  experiments = []
  for seed in seeds:
    name = f'{flagfile.name}_seed{seed}'
    of_one = [
      *arguments,
      f'--seed={seed}',
      f'--output_dir={output_dir}',
      f'--experiment_name={name}',
    ]
    with flagsaver.flagsaver():
      _parse(flagfile, of_one)
      settings = _check(flagfile, output_dir / name)
    experiments.append(
      Experiment(
        name=name,
        command=(
          *(sys.executable, '-m', f'launch.{flagfile.program}'),
          *of_one,
        ),
        log_path=output_dir / f'{name}.log',
        flagfile=flagfile,
        folder=output_dir / name,
        total_rounds=settings.total_rounds,
      )
    )
  return experiments


def _parse(flagfile: flagfiles_lib.Flagfile, arguments: Sequence[str]) -> None:
  """Gives flags the values that the program will have; others it has not."""
  flagfile.system.set_defaults()
  present = {name: flags.FLAGS[name].present for name in flags.FLAGS}
  try:
    _, *rest = flags.FLAGS(['sweep', *arguments])
  except flags.Error as error:
    raise ValueError(str(error)) from error
  if rest:
    raise ValueError(f'unexpected argument {rest[0]!r}; flags are --name=value')
  used = flagfile.system.flag_values()
  for name, number in present.items():
    # This process knows the flags of all programs, and its own.
    if (
      flags.FLAGS[name].present > number
      and name not in used
      and not flags.FLAGS.find_module_defining_flag(name).startswith('absl.')
    ):
      raise ValueError(
        f'launch.{flagfile.program} has no use for --{name}; leave it out'
      )


def _check(
  flagfile: flagfiles_lib.Flagfile, folder: pathlib.Path
) -> settings_lib.Settings:
  """Checks the flags that were parsed, and the folder if it is there."""
  runtimes.check_flags()
  settings = settings_lib.resolve(flagfile.system)
  # A new one is left to the program, which notes the versions it runs with.
  # What opens it here holds it no longer than this.
  if folder.exists():
    experiment_lib.open_folder(flagfile.system, settings)
  return settings
