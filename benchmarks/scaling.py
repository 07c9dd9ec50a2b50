# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The cost of ten times as many clients, images or parameters."""

import tracemalloc

import numpy as np

from benchmarks import federation as federation_lib
from benchmarks import measurement
from tff_semifl import runtime
from tff_semifl.data import partition
from tff_semifl.data import pipelines
from tff_semifl.data import sources

_SIZE = federation_lib.Size(
  model_depth=10,
  model_width=1,
  num_clients=2,
  images_per_client=20,
  num_labeled=10,
)


def measure_rounds(
  num_repetitions: int,
  size: federation_lib.Size = _SIZE,
  *,
  factor: int = 10,
) -> measurement.Measurement:
  """Measures a round, and rounds with more clients, images or parameters."""
  # Parameters grow with the square of the width, except in the first layer.
  wider = round(size.model_width * factor**0.5)
  sizes = {
    'a small round': size,
    f'{factor} times the clients': size._replace(
      num_clients=size.num_clients * factor
    ),
    f'{factor} times the images of a client': size._replace(
      images_per_client=size.images_per_client * factor
    ),
    f'{wider / size.model_width:.0f} times the width': size._replace(
      model_width=wider
    ),
  }
  with runtime.simulation_context():
    seconds = measurement.time_alternately(
      {name: _build_round(each) for name, each in sizes.items()},
      num_repetitions,
    )
  return measurement.Measurement(
    name='scaling',
    description=f'A round of SemiFL in process; the small one: {size}',
    unit='s',
    values=seconds,
    compared_with='a small round',
    target=f'about {factor} times, or less',
  )


def measure_population(
  num_repetitions: int, *, numbers: tuple[int, int] = (100, 1_000_000)
) -> measurement.Measurement:
  """Measures the time to sample ten clients, by the size of the population."""
  alternatives = {}
  for number in numbers:
    # All clients share one image, but have as many indices as usual.
    tracemalloc.start()
    shares = partition.partition_iid(number, number, seed=0)
    population = pipelines.ClientPopulation(
      sources.ImagePool(
        np.broadcast_to(np.zeros([], np.uint8), (number, 32, 32, 3)),
        np.broadcast_to(np.zeros([], np.int32), (number,)),
      ),
      shares,
      clients_per_round=10,
      seed=0,
    )
    megabytes = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    name = f'{number:,} clients ({megabytes:.3g} MB, indices'
    name += f' {8 * number / 1e6:.3g} MB)'
    alternatives[name] = _build_cohorts(population)
  return measurement.Measurement(
    name='population',
    description='The data of ten clients of a round, by clients in all',
    unit='s',
    values=measurement.time_alternately(alternatives, num_repetitions),
    compared_with=next(iter(alternatives)),
    target='as fast, and no more memory than indices',
  )


def _build_round(size: federation_lib.Size):
  federation = federation_lib.Federation(size)
  arguments = []

  def run() -> None:
    if not arguments:
      arguments.extend(
        [
          federation.initial_state(),
          federation.server_data(),
          federation.client_data(),
        ]
      )
    federation.process.next(*arguments)

  return run


def _build_cohorts(population: pipelines.ClientPopulation):
  rounds = iter(range(1, 10**9))

  def run() -> None:
    population.datasets(next(rounds))

  return run
