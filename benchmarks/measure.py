# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Measures how fast this machine does what training consists of.

  python -m benchmarks.measure

It prints a table for each measurement, and writes all numbers as JSON.
"""

import functools

from absl import flags

from benchmarks import aggregation
from benchmarks import augmentation
from benchmarks import batch_step
from benchmarks import client_step
from benchmarks import concurrency
from benchmarks import image_data
from benchmarks import image_storage
from benchmarks import memory
from benchmarks import ray_memory
from benchmarks import ray_rounds
from benchmarks import report
from benchmarks import rounds
from benchmarks import scaling
from benchmarks import startup
from benchmarks import turn_counts
from benchmarks import turn_forms
from tff_semifl.launch import program

# Each takes the number of repetitions and returns a `Measurement`.
_BENCHMARKS = {
  'augmentation': augmentation.measure,
  'client_step': client_step.measure,
  'turn_form': turn_forms.measure,
  'turn_form_digits': turn_forms.measure_digits,
  'turn_counts': turn_counts.measure,
  'turn_estimate': turn_counts.estimate,
  'round': rounds.measure,
  'round_profile': rounds.profile,
  'aggregation': aggregation.measure,
  'server_data': image_data.measure_server,
  'client_data': image_data.measure_clients,
  'batch_step': batch_step.measure,
  'concurrency': concurrency.measure,
  'clients_at_once': concurrency.measure_at_once,
  'startup': startup.measure,
  'startup_digits': startup.measure_digits,
  'memory': memory.measure,
  'memory_at_once': functools.partial(memory.measure, clients_at_once=4),
  'ray_memory': ray_memory.measure,
  'ray_round': ray_rounds.measure,
  'ray_traffic': ray_rounds.measure_traffic,
  'scaling': scaling.measure_rounds,
  'scaling_at_once': functools.partial(
    scaling.measure_rounds, clients_at_once=2
  ),
  'population': scaling.measure_population,
  'image_memory': image_storage.measure_memory,
  'image_rounds': image_storage.measure_rounds,
}

_BENCHMARKS_TO_RUN = flags.DEFINE_list(
  'benchmarks',
  list(_BENCHMARKS),
  'What to measure, with commas. By default everything.',
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
