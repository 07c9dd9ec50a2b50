# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Measures how fast this machine does what training consists of.

  python -m benchmarks.measure

It prints a table for each measurement, and writes all numbers as JSON.
"""

import dataclasses
import json

from absl import flags

from benchmarks import aggregation
from benchmarks import augmentation
from benchmarks import client_step
from benchmarks import concurrency
from benchmarks import image_data
from benchmarks import image_storage
from benchmarks import machine
from benchmarks import memory
from benchmarks import ray_memory
from benchmarks import ray_rounds
from benchmarks import rounds
from benchmarks import scaling
from benchmarks import startup
from benchmarks import turn_forms
from tff_semifl.launch import output_flag
from tff_semifl.launch import program

# Each takes the number of repetitions and returns a `Measurement`.
_BENCHMARKS = {
  'augmentation': augmentation.measure,
  'client_step': client_step.measure,
  'turn_form': turn_forms.measure,
  'turn_form_digits': turn_forms.measure_digits,
  'round': rounds.measure,
  'round_profile': rounds.profile,
  'aggregation': aggregation.measure,
  'server_data': image_data.measure_server,
  'client_data': image_data.measure_clients,
  'concurrency': concurrency.measure,
  'startup': startup.measure,
  'memory': memory.measure,
  'ray_memory': ray_memory.measure,
  'ray_round': ray_rounds.measure,
  'ray_traffic': ray_rounds.measure_traffic,
  'scaling': scaling.measure_rounds,
  'population': scaling.measure_population,
  'image_memory': image_storage.measure_memory,
  'image_rounds': image_storage.measure_rounds,
}

_BENCHMARKS_TO_RUN = flags.DEFINE_list(
  'benchmarks',
  list(_BENCHMARKS),
  'What to measure, with commas. By default everything.',
)
_REPETITIONS = flags.DEFINE_integer(
  'repetitions', 11, 'Times that each thing is measured.', lower_bound=1
)


def main() -> None:
  """Runs the program, after flags were parsed."""
  with program.blame(_BENCHMARKS_TO_RUN, ValueError):
    for name in _BENCHMARKS_TO_RUN.value:
      if name not in _BENCHMARKS:
        raise ValueError(
          f'there is no {name!r}; there are {", ".join(_BENCHMARKS)}'
        )
  path = output_flag.one('results/benchmark.json')
  # Nothing is measured before it is known that it can be written.
  with output_flag.writing(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
  here = machine.describe()
  print(f'{here}\n')
  measurements = []
  for name in _BENCHMARKS_TO_RUN.value:
    measured = _BENCHMARKS[name](_REPETITIONS.value)
    measurements.append(dataclasses.asdict(measured))
    target = f' Target: {measured.target}.' if measured.target else ''
    print(
      f'{measured.description}.{target}\n\n{measured.table()}\n', flush=True
    )
  path.write_text(
    json.dumps(
      {'machine': here._asdict(), 'measurements': measurements}, indent=2
    )
    + '\n'
  )
  print(f'all numbers: {path}')


if __name__ == '__main__':
  program.run(main)
