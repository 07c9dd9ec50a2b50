# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The speedup from concurrent clients."""

import os

from benchmarks import federation as federation_lib
from benchmarks import measurement
from tff_semifl import runtime


def measure(
  num_repetitions: int,
  size: federation_lib.Size | None = None,
  *,
  numbers: tuple[int, ...] = (1, 2, 4),
) -> measurement.Measurement:
  """Measures rounds with each of the `numbers` of concurrent clients.

  If the environment has `runtime.OWN_THREADS`, also measures two clients with
  one thread each, while the server has all threads.
  """
  federation = federation_lib.Federation(size or federation_lib.Size())
  kinds = {
    f'{number} at a time': dict(max_concurrent_clients=number)
    for number in numbers
  }
  if runtime.OWN_THREADS in os.environ:
    kinds['2 at a time with a thread each'] = dict(
      max_concurrent_clients=2, client_threads_per_operation=1
    )

  def round_with(options: dict[str, int]):
    context = runtime.InProcessContext(**options)

    def run() -> None:
      context.invoke(federation.process.next, arguments)

    return run

  with runtime.simulation_context():
    state = federation.initial_state()
    arguments = [state, federation.server_data(), federation.client_data()]
    seconds = measurement.time_alternately(
      {name: round_with(options) for name, options in kinds.items()},
      num_repetitions,
    )
  return measurement.Measurement(
    name='concurrency',
    description=f'A round of SemiFL in process: {federation.size}',
    unit='s',
    values=seconds,
    compared_with=next(iter(kinds)),
    target='two at a time at least 1.15 times as fast as one, on two cores',
  )
