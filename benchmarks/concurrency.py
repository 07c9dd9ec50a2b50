# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The gain of letting several clients work at the same time, or at once."""

import ctypes
import functools
import gc
import os
import pathlib

from benchmarks import federation as federation_lib
from benchmarks import measurement
from benchmarks import memory
from tff_semifl import runtime
from tff_semifl.work import turn_form

_PEAK = 'VmHWM'
_SIZE = federation_lib.Size(model_depth=16, model_width=1, num_clients=4)


def measure(
  num_repetitions: int,
  size: federation_lib.Size | None = None,
  *,
  numbers: tuple[int, ...] = (1, 2, 4),
) -> measurement.Measurement:
  """Measures rounds with one client at a time, with two, and so on.

  If the environment has `runtime.OWN_THREADS`, with two that have a thread
  each, too, while the server has all.

  Args:
    num_repetitions: Rounds for each number.
    size: Of the federation.
    numbers: Of clients at a time; the first is what others are compared with.
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

  with runtime.simulation_context('in_process'):
    state = federation.initial_state()
    arguments = [state, federation.server_data(), federation.client_data()]
    seconds = measurement.time_in_turns(
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


def measure_at_once(
  num_repetitions: int,
  size: federation_lib.Size = _SIZE,
) -> measurement.Measurement:
  """Measures rounds in which operations compute for all clients at once.

  Args:
    num_repetitions: Rounds of each kind, after one to warm up.
    size: Of the federation.
  """
  kinds = {
    'one after another, dynamic': (turn_form.DYNAMIC, 1),
    'one after another, static': (turn_form.STATIC, 1),
    'at once': (turn_form.STATIC, size.num_clients),
  }
  values = {}
  for name, (form, clients_at_once) in kinds.items():
    federation = federation_lib.Federation(size, turn_form=form)
    with runtime.simulation_context(clients_at_once=clients_at_once) as context:
      state = federation.initial_state()
      arguments = [state, federation.server_data(), federation.client_data()]
      call = functools.partial(
        measurement.time_call,
        context.invoke,
        federation.process.next,
        arguments,
      )
      first, _ = call()
      before = _forget_peak()
      seconds, of_processors = zip(
        *(call() for _ in range(num_repetitions)), strict=True
      )
    values |= {
      f'{name}: first round': [first],
      f'{name}: s': list(seconds),
      f'{name}: s of processors': list(of_processors),
      f'{name}: MB at most above what was there': [
        memory.read_megabytes(_PEAK) - before
      ],
    }
  return measurement.Measurement(
    name='clients_at_once',
    description=f'A round of SemiFL in process: {federation.size}',
    unit='s or MB',
    values=values,
  )


def _forget_peak() -> float:
  """Begins to look for the most memory; returns that of now, in MB."""
  gc.collect()
  # What is free would be used again, and not be seen.
  ctypes.CDLL(None).malloc_trim(0)
  pathlib.Path('/proc/self/clear_refs').write_text('5')
  return memory.read_megabytes(_PEAK)
