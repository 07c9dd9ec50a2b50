# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Measures how fast this machine runs each part of training.

  python -m benchmarks.measure

The program prints a table for each measurement, and writes all numbers as JSON.
"""

import dataclasses

from benchmarks import augmentation
from benchmarks import client_step
from benchmarks import concurrency
from benchmarks import memory
from benchmarks import ray_rounds
from benchmarks import report as report_lib
from benchmarks import rounds
from benchmarks import scaling
from benchmarks import startup
from tff_semifl import settings
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measure(settings.Settings):
  """The settings of this program."""

  benchmarks: tuple[str, ...] = settings.setting(
    tuple(_BENCHMARKS),
    'Names of measurements, with commas. By default all.',
    settings.Values(
      f'some of {", ".join(_BENCHMARKS)}',
      lambda names: {*names} <= _BENCHMARKS.keys(),
    ),
  )
  report: report_lib.Report = report_lib.Report()


def main(measure: Measure) -> None:
  """Measures, and writes the report."""
  report_lib.write(
    measure.report.open_file(),
    (
      _BENCHMARKS[name](measure.report.repetitions)
      for name in measure.benchmarks
    ),
  )


if __name__ == '__main__':
  program.run(main, Measure())
