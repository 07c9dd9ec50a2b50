# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The cost of a round of SemiFL, compared with plain TensorFlow."""

import cProfile
import pstats

from benchmarks import federation as federation_lib
from benchmarks import measurement
from benchmarks import plain_round
from tff_semifl import runtime
from tff_semifl.runtime import graph_functions
from tff_semifl.runtime import values


def measure(
  num_repetitions: int, size: federation_lib.Size | None = None
) -> measurement.Measurement:
  """Measures rounds in process, and as plain TensorFlow functions."""
  federation = federation_lib.Federation(size or federation_lib.Size())
  run_plain_round = plain_round.build_round(federation)
  plain_state = plain_round.initial_state(federation)
  with runtime.simulation_context():
    state = federation.initial_state()

    def run_plain() -> None:
      weights, *_ = run_plain_round(plain_state)
      weights.trainable[0].numpy()

    def run_process() -> None:
      federation.process.next(
        state, federation.server_data(), federation.client_data()
      )

    seconds = measurement.time_alternately(
      {'plain TensorFlow': run_plain, 'in process': run_process},
      num_repetitions,
    )
  return measurement.Measurement(
    name='round',
    description=f'A round of SemiFL, one client at a time: {federation.size}',
    unit='s',
    values=seconds,
    compared_with='plain TensorFlow',
    target='at most 1.10 times plain TensorFlow',
  )


def profile(
  num_repetitions: int, size: federation_lib.Size | None = None
) -> measurement.Measurement:
  """Measures where a round in process spends its time."""
  federation = federation_lib.Federation(size or federation_lib.Size())
  seconds = {
    'TensorFlow': [],
    'arguments in': [],
    'results out': [],
    'all else': [],
  }
  with runtime.simulation_context():
    state = federation.initial_state()
    arguments = state, federation.server_data(), federation.client_data()
    federation.process.next(*arguments)
    for _ in range(num_repetitions):
      profiler = cProfile.Profile()
      profiler.runcall(federation.process.next, *arguments)
      statistics = pstats.Stats(profiler)
      parts = [
        _cumulative(statistics, function)
        for function in (
          graph_functions.GraphFunction.__call__,
          values.embed,
          values.extract,
        )
      ]
      rest = statistics.total_tt - sum(parts)
      for name, part in zip(seconds, [*parts, rest], strict=True):
        seconds[name].append(part)
  return measurement.Measurement(
    name='round_profile',
    description=f'Where a round in process spends its time: {federation.size}',
    unit='s',
    values=seconds,
  )


def _cumulative(statistics: pstats.Stats, function) -> float:
  """The seconds in a function, including its callees."""
  code = function.__code__
  key = (code.co_filename, code.co_firstlineno, code.co_name)
  return statistics.stats[key][3]
