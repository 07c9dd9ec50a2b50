# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The memory of many clients' rounds on a Ray cluster."""

import collections
import contextlib
import gc

import psutil

from benchmarks import federation as federation_lib
from benchmarks import measurement
from tff_semifl import runtime
from tff_semifl.runtime import ray_environment


def measure(
  num_repetitions: int,
  *,
  num_clients: int = 1000,
  num_actors: int = 4,
  checkpoints: tuple[int, ...] = (5, 20, 50, 100),
) -> measurement.Measurement:
  """Measures memory in rounds of SemiFL with one image of each client.

  Args:
    num_repetitions: Not heeded: rounds are repetitions enough.
    num_clients: Clients, all of which take part in each round.
    num_actors: Processes that do their work, with a thread each.
    checkpoints: Numbers of rounds after which to measure.
  """
  del num_repetitions  # Unused.
  federation = federation_lib.Federation(
    federation_lib.Size(
      model_depth=10,
      model_width=1,
      num_clients=num_clients,
      images_per_client=1,
      num_labeled=10,
    )
  )
  server_data, client_data = federation.server_data(), federation.client_data()
  values = collections.defaultdict(list)
  with _cluster(num_actors):
    options = runtime.RayOptions(threads_per_operation=1)
    with runtime.simulation_context('ray', ray=options):
      state = federation.initial_state()
      for round_num in range(1, max(checkpoints) + 1):
        state = federation.process.next(state, server_data, client_data).state
        if round_num in checkpoints:
          for name, megabytes in _measure_megabytes().items():
            values[f'{name}, after {round_num} rounds'].append(megabytes)
  return measurement.Measurement(
    name='ray_memory',
    description=(
      f'Memory in rounds of {num_clients} clients on {num_actors} actors'
    ),
    unit='MB',
    values=values,
    target='no growth',
  )


def _cluster(num_cpus: int) -> contextlib.AbstractContextManager:
  """Starts a cluster that takes this machine for one of so many cores."""
  ray_environment.prepare(is_local=True)
  # Not before its environment is prepared.
  import ray

  return ray.init(
    'local',
    num_cpus=num_cpus,
    include_dashboard=False,
    _node_ip_address='127.0.0.1',
    log_to_driver=False,
    logging_level='error',
  )


def _measure_megabytes() -> dict[str, float]:
  """Returns what the program, its actors and the object store take."""
  import ray

  gc.collect()
  program = psutil.Process()
  actors = [
    each
    for each in program.children(recursive=True)
    if each.name().startswith('ray::Actor')
  ]
  store = (
    ray.cluster_resources()['object_store_memory']
    - ray.available_resources()['object_store_memory']
  )
  return {
    'program': program.memory_info().rss / 1e6,
    # What they map of the object store is not theirs.
    f'{len(actors)} actors': sum(
      each.memory_info().rss - each.memory_info().shared for each in actors
    )
    / 1e6,
    'object store': store / 1e6,
  }
