# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Measures the speed of this machine at the parts of training.

  python -m benchmarks.measure

It prints a table for each measurement, and writes all numbers as JSON.
"""

from absl import flags

from benchmarks import augmentation
from benchmarks import client_step
from benchmarks import concurrency
from benchmarks import memory
from benchmarks import ray_rounds
from benchmarks import report
from benchmarks import rounds
from benchmarks import scaling
from benchmarks import startup
from tff_semifl.cli import program

_BENCHMARKS = {
  'augmentation': augmentation.measure,
  'client_step': client_step.measure,
  'round': rounds.measure,
  'round_profile': rounds.profile,
  'concurrency': concurrency.measure,
  'startup': startup.measure,
  'startup_digits': startup.measure_digits,
  'memory': memory.measure,
  'ray_round': ray_rounds.measure,
  'ray_traffic': ray_rounds.measure_traffic,
  'scaling': scaling.measure_rounds,
  'population': scaling.measure_population,
}

_BENCHMARKS_TO_RUN = flags.DEFINE_list(
  'benchmarks',
  list(_BENCHMARKS),
  'Names of measurements, with commas. By default all.',
)


def main() -> None:
  """Runs the program, after flags were parsed."""
  with program.blame(_BENCHMARKS_TO_RUN, ValueError):
    for name in _BENCHMARKS_TO_RUN.value:
      if name not in _BENCHMARKS:
        raise ValueError(
          f'there is no {name!r}; there are {", ".join(_BENCHMARKS)}'
        )
  path = report.open_file('results/benchmark.json')
  report.write(
    path,
    (
      _BENCHMARKS[name](report.REPETITIONS.value)
      for name in _BENCHMARKS_TO_RUN.value
    ),
  )


if __name__ == '__main__':
  program.run(main)
