# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The gain of letting several clients work at the same time."""

from benchmarks import federation as federation_lib
from benchmarks import measurement
from tff_semifl import runtime


def measure(
  num_repetitions: int,
  size: federation_lib.Size | None = None,
  *,
  numbers: tuple[int, ...] = (1, 2, 4),
) -> measurement.Measurement:
  """Measures rounds with one client at a time, with two, and so on.

  Args:
    num_repetitions: Rounds for each number.
    size: Of the federation.
    numbers: Of clients at a time; the first is what others are compared with.
  """
  federation = federation_lib.Federation(size or federation_lib.Size())
  names = [f'{number} at a time' for number in numbers]

  def round_with(number: int):
    context = runtime.InProcessContext(max_concurrent_clients=number)

    def run() -> None:
      context.invoke(federation.process.next, arguments)

    return run

  with runtime.simulation_context('in_process'):
    state = federation.initial_state()
    arguments = [state, federation.server_data(), federation.client_data()]
    seconds = measurement.time_in_turns(
      dict(zip(names, map(round_with, numbers), strict=True)),
      num_repetitions,
    )
  return measurement.Measurement(
    name='concurrency',
    description=f'A round of SemiFL in process: {federation.size}',
    unit='s',
    values=seconds,
    compared_with=names[0],
    target='two at a time at least 1.15 times as fast as one, on two cores',
  )
