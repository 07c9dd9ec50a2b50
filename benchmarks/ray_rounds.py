# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The cost of a round of SemiFL on a local Ray cluster."""

import collections

from benchmarks import federation as federation_lib
from benchmarks import measurement
from tff_semifl import runtime

_SIZE = federation_lib.Size(model_depth=16, model_width=1)


def measure(
  num_repetitions: int, size: federation_lib.Size = _SIZE
) -> measurement.Measurement:
  """Measures rounds in process, and on Ray with a single actor."""
  federation = federation_lib.Federation(size)
  with runtime.simulation_context() as in_process:
    state = federation.initial_state()
    with runtime.simulation_context(ray=runtime.RayOptions()) as ray:
      alternatives = {'in process': in_process, 'Ray': ray}

      def run_round() -> None:
        federation.process.next(
          state, federation.server_data(), federation.client_data()
        )

      seconds = measurement.time_alternately(
        {
          name: measurement.in_context(context, run_round)
          for name, context in alternatives.items()
        },
        num_repetitions,
      )
  return measurement.Measurement(
    name='ray_round',
    description=f'A round of SemiFL, one client at a time: {size}',
    unit='s',
    values=seconds,
    compared_with='in process',
  )


def measure_traffic(
  num_repetitions: int, size: federation_lib.Size = _SIZE
) -> measurement.Measurement:
  """Measures the bytes that each of `num_repetitions` rounds sends, by kind."""
  federation = federation_lib.Federation(size)
  sent = {}
  with runtime.simulation_context(ray=runtime.RayOptions()) as ray:
    state = federation.process.initialize()
    for _ in range(num_repetitions):
      before = collections.Counter(ray.runner.sent)
      state = federation.process.next(
        state, federation.server_data(), federation.client_data()
      ).state
      for kind, count in ray.runner.sent.items():
        sent.setdefault(kind, []).append((count - before[kind]) / 1e6)
  return measurement.Measurement(
    name='ray_traffic',
    description=f'What a round sends: {size}',
    unit='MB',
    values=sent,
  )
