# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The time of a client's turn in each of its forms."""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
from typing import Any

import numpy as np

from benchmarks import federation as federation_lib
from benchmarks import measurement
from tff_semifl import runtime
from tff_semifl.models import functional
from tff_semifl.work import client_work
from tff_semifl.work import round_context
from tff_semifl.work import turn_form

FORMS = {
  'dynamic': turn_form.DYNAMIC,
  'static': turn_form.STATIC,
  'static, XLA': turn_form.COMPILED,
}
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
  size = size._replace(num_clients=1)
  forms = {
    name: form
    for name, form in FORMS.items()
    if with_xla or form is not turn_form.COMPILED
  }
  first, times = time_turns(
    num_repetitions, federation_lib.Federation(size), forms
  )
  seconds = {}
  for name, pairs in times.items():
    of_clock, of_processors = map(list, zip(*pairs, strict=True))
    seconds |= {name: of_clock, f'{name}: processors': of_processors}
  return measurement.Measurement(
    name='turn_form',
    description=(
      f'A turn of a client of SemiFL: {size}. First turns: '
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


def time_turns(
  num_repetitions: int,
  federation: federation_lib.Federation,
  forms: Mapping[str, turn_form.TurnForm],
  devices: Sequence[str] | None = None,
) -> tuple[dict[str, float], dict[str, list[tuple[float, float]]]]:
  """Returns the time of the first turn in each form, and of others, in turns.

  Args:
    num_repetitions: Turns in each form after the first.
    federation: Of which the first client is looked at.
    forms: The forms, by name.
    devices: Where, see `InProcessContext`.

  Returns:
    By names of forms: the seconds of the first turn, with what is traced
    and compiled for it; and seconds by the clock and of all processors of the
    others.
  """
  weights = federation.classifier.initial_weights
  with runtime.simulation_context('in_process', devices=devices):
    turns = {name: build_turn(federation, form) for name, form in forms.items()}
    first = {
      name: measurement.time_call(turn, weights)[0]
      for name, turn in turns.items()
    }
    times = {name: [] for name in turns}
    for _ in range(num_repetitions):
      for name, turn in turns.items():
        times[name].append(measurement.time_call(turn, weights))
  return first, times


def build_turn(
  federation: federation_lib.Federation,
  form: turn_form.TurnForm,
  num_clients: int = 1,
) -> Callable[[functional.ModelWeights], Any]:
  """Builds the turns of the first clients in round 1.

  Args:
    federation: Whose clients.
    form: The form of their turns.
    num_clients: How many.

  Returns:
    received weights -> the output of a `ClientWorkProcess`.
  """
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
  context = round_context.RoundContext(
    federation.ingredients.seed, 1, np.float32(0.03)
  )
  data = federation.client_data()[:num_clients]
  return lambda weights: process.next(
    state, [(weights, context)] * num_clients, data
  )
