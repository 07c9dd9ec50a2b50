# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The time and device memory of rounds of SemiFL."""

from collections.abc import Iterator, Sequence
import time

import tensorflow as tf

from benchmarks import federation as federation_lib
from benchmarks import measurement
from tff_semifl import runtime

_NUM_ROUNDS = 3


def measure(
  devices: Sequence[str], size: federation_lib.Size, *, jit_compile: bool
) -> Iterator[measurement.Measurement]:
  """Measures rounds in which each device runs one client at a time.

  Rounds have no evaluation, and all pseudo-labels are confident.

  Args:
    devices: Names of logical devices; the server uses the first.
    size: The federation.
    jit_compile: Whether XLA compiles the training.

  Yields:
    The time of the first round, with tracing and compilation; the time of later
    rounds; and, if TensorFlow measures it, the peak memory of the first device
    in later rounds.
  """
  kind = f'{len(devices)} side by side' + (', XLA' if jit_compile else '')
  with runtime.simulation_context(devices=devices):
    federation = federation_lib.Federation(size, jit_compile=jit_compile)
    state = federation.initial_state()
    seconds = []
    for _ in range(1 + _NUM_ROUNDS):
      _forget_peak(devices[0])
      start = time.perf_counter()
      state = federation.process.next(
        state, federation.server_data(), federation.client_data()
      ).state
      seconds.append(time.perf_counter() - start)
  yield measurement.Measurement(
    name=f'round, {kind}',
    description=f'Rounds of SemiFL on {devices[0]}, {kind}: {size}',
    unit='s',
    values={'first round': seconds[:1], 'later rounds': seconds[1:]},
  )
  yield from _measure_peak(devices[0], kind)


def _forget_peak(device: str) -> None:
  if _counts_memory(device):
    tf.config.experimental.reset_memory_stats(_memory_name(device))


def _measure_peak(device: str, kind: str) -> Iterator[measurement.Measurement]:
  """Yields the peak memory since `_forget_peak`, if TensorFlow measures it."""
  if _counts_memory(device):
    memory = tf.config.experimental.get_memory_info(_memory_name(device))
    yield measurement.Measurement(
      name=f'device_memory, {kind}',
      description=f'Memory of {device} in the last round, {kind}',
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
