# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The growth of memory over rounds."""

import gc
import pathlib
import re

from benchmarks import federation as federation_lib
from benchmarks import measurement
from tff_semifl import runtime

_SIZE = federation_lib.Size(
  model_depth=10,
  model_width=1,
  num_clients=8,
  images_per_client=10,
  num_labeled=10,
)


def measure(
  num_repetitions: int,
  size: federation_lib.Size = _SIZE,
  *,
  checkpoints: tuple[int, int] = (50, 300),
) -> measurement.Measurement:
  """Measures the memory of the process after each round in `checkpoints`.

  `num_repetitions` is ignored, because rounds are the repetitions.
  """
  del num_repetitions
  federation = federation_lib.Federation(size)
  values = {}
  for name, num_clients in (
    ('as many clients in each round', lambda round_num: size.num_clients),
    (
      'another number in each round',
      lambda round_num: 1 + round_num % size.num_clients,
    ),
  ):
    with runtime.simulation_context():
      state = federation.initial_state()
      for round_num in range(1, max(checkpoints) + 1):
        state = federation.process.next(
          state,
          federation.server_data(),
          federation.client_data()[: num_clients(round_num)],
        ).state
        if round_num in checkpoints:
          values[f'{name}, after {round_num}'] = [_resident_megabytes()]
  return measurement.Measurement(
    name='memory',
    description=f'Memory of the process: {size}',
    unit='MB',
    values=values,
    target='no growth',
  )


def _resident_megabytes() -> float:
  gc.collect()
  status = pathlib.Path('/proc/self/status').read_text()
  return int(re.search(r'^VmRSS:\s+(\d+) kB', status, re.M).group(1)) / 1024
