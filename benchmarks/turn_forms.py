# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The time of a client's turn in each of its forms."""

from collections.abc import Callable
import dataclasses
import time

import numpy as np

from benchmarks import federation as federation_lib
from benchmarks import measurement
from tff_semifl import runtime
from tff_semifl.work import client_work
from tff_semifl.work import round_context
from tff_semifl.work import turn_form

# CIFAR-10's model, made smaller, and that of digits.
_SIZE = federation_lib.Size(model_depth=16, model_width=1)
_DIGITS_SIZE = federation_lib.Size(model_depth=7, model_num_groups=2)


def measure(
  num_repetitions: int,
  size: federation_lib.Size = _SIZE,
  *,
  with_xla: bool = True,
) -> measurement.Measurement:
  """Measures turns by the clock and by the time of all processors.

  The first turn in each form, with what is traced and compiled for it, is
  reported apart from the others.

  Args:
    num_repetitions: Turns in each form.
    size: Of the federation, of which one client is looked at.
    with_xla: Whether to wait for XLA to compile it, too.
  """
  federation = federation_lib.Federation(size._replace(num_clients=1))
  forms = {'dynamic': turn_form.DYNAMIC, 'static': turn_form.STATIC}
  if with_xla:
    forms['static, XLA'] = turn_form.COMPILED
  with runtime.simulation_context('in_process'):
    turns = {
      name: _build_turn(federation, form) for name, form in forms.items()
    }
    first = {name: _time(turn)[0] for name, turn in turns.items()}
    seconds = {}
    for _ in range(num_repetitions):
      for name, turn in turns.items():
        elapsed, of_processors = _time(turn)
        seconds.setdefault(name, []).append(elapsed)
        seconds.setdefault(f'{name}: processors', []).append(of_processors)
  return measurement.Measurement(
    name='turn_form',
    description=(
      f'A turn of a client of SemiFL: {federation.size}. First turns: '
      + ', '.join(f'{name} {elapsed:.1f} s' for name, elapsed in first.items())
    ),
    unit='s',
    values=seconds,
    compared_with='dynamic',
  )


def measure_digits(num_repetitions: int) -> measurement.Measurement:
  """Does the same with the model of digits.

  Args:
    num_repetitions: Turns in each form.
  """
  measured = measure(num_repetitions, _DIGITS_SIZE)
  return dataclasses.replace(measured, name='turn_form_digits')


def _build_turn(
  federation: federation_lib.Federation, form: turn_form.TurnForm
) -> Callable[[], object]:
  """Builds the turn of the first client in round 1."""
  system = federation.system
  optimizer = system.optimizer.build()
  process = client_work.build_client_work(
    federation.classifier,
    system.client.build(
      dataclasses.replace(federation.ingredients, turn_form=form),
      optimizer,
      system.client_turn,
    ),
    optimizer=optimizer,
    keep_optimizer_state=False,
    max_update_norm_ratio=system.averaging.max_update_norm_ratio,
    form=form,
  )
  state = process.initialize()
  received = (
    federation.classifier.initial_weights,
    round_context.RoundContext(
      federation.ingredients.seed, 1, np.float32(0.03)
    ),
  )
  [data] = federation.client_data()
  return lambda: process.next(state, [received], [data])


def _time(call: Callable[[], object]) -> tuple[float, float]:
  """Returns the seconds of a call, and those of all processors in it."""
  start, processor_start = time.perf_counter(), time.process_time()
  call()
  return time.perf_counter() - start, time.process_time() - processor_start
