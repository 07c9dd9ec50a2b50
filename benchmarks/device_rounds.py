# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The time and device memory of rounds of SemiFL."""

from collections.abc import Iterator
import time

import tensorflow as tf

from benchmarks import federation as federation_lib
from benchmarks import measurement
from tff_semifl import runtime

_KINDS = {'by default': False, '--jit_compile': True}


class _Run:
  """Training that continues from round to round."""

  def __init__(self, federation: federation_lib.Federation):
    self._federation = federation
    self._state = federation.initial_state()

  def time_round(self) -> float:
    """Runs a round, and returns its seconds."""
    federation = self._federation
    start = time.perf_counter()
    self._state = federation.process.next(
      self._state, federation.server_data(), federation.client_data()
    ).state
    return time.perf_counter() - start


def measure(
  device: str, size: federation_lib.Size, seconds: float
) -> Iterator[measurement.Measurement]:
  """Measures rounds by default and with --jit_compile.

  Rounds have no evaluation, and all pseudo-labels are confident.

  Yields:
    For each kind the time of the first round, with tracing and compilation, and
    of the second, and the peak memory of the device, if TensorFlow counts it;
    then rounds per hour, in rounds of the fastest kind for so many `seconds`.
  """
  runs, times = {}, {}
  with runtime.simulation_context(devices=[device]):
    for name, jit_compile in _KINDS.items():
      run = runs[name] = _Run(
        federation_lib.Federation(size, jit_compile=jit_compile)
      )
      first = run.time_round()
      _forget_peak(device)
      times[name] = run.time_round()
      yield measurement.Measurement(
        name=f'round, {name}',
        description=f'Rounds of SemiFL on {device}, {name}: {size}',
        unit='s',
        values={'first round': [first], 'second round': [times[name]]},
      )
      yield from _measure_peak(device, name)
    fastest = min(times, key=times.get)
    rounds = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
      rounds.append(runs[fastest].time_round())
  if rounds:
    yield measurement.Measurement(
      name='rounds_per_hour',
      description=(
        f'Rounds on {device}, {fastest}: {len(rounds)} in {sum(rounds):.0f} s,'
        f' {3600 * len(rounds) / sum(rounds):,.0f} an hour. {size}'
      ),
      unit='rounds an hour',
      values={fastest: [3600 / each for each in rounds]},
    )


def _forget_peak(device: str) -> None:
  if _counts_memory(device):
    tf.config.experimental.reset_memory_stats(_memory_name(device))


def _measure_peak(device: str, kind: str) -> Iterator[measurement.Measurement]:
  """Yields the peak memory since `_forget_peak`, if it is counted."""
  if _counts_memory(device):
    memory = tf.config.experimental.get_memory_info(_memory_name(device))
    yield measurement.Measurement(
      name=f'device_memory, {kind}',
      description=f'Memory of {device} in the second round, {kind}',
      unit='MB',
      values={
        'most': [memory['peak'] / 1e6],
        'after it': [memory['current'] / 1e6],
      },
    )


def _counts_memory(device: str) -> bool:
  return ':GPU:' in device


def _memory_name(device: str) -> str:
  return device.removeprefix('/device:')
