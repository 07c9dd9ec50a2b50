# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Counts of a client's step in its forms, and what they say of a GPU."""

import copy
import dataclasses
import functools
from typing import NamedTuple
from unittest import mock

import numpy as np
import tensorflow as tf

from benchmarks import compiled_step
from benchmarks import executed_operations
from benchmarks import federation as federation_lib
from benchmarks import measurement
from benchmarks import paper_cell
from benchmarks import plain_round
from benchmarks import turns_at_once
from tff_semifl import packing
from tff_semifl.work import turn_form

# Two batches, of which one is a step more than one.
_SIZE = federation_lib.Size(num_clients=1, images_per_client=20)
# As many as take part in a round of the paper's.
_CLIENTS_AT_ONCE = 10

# Of an NVIDIA H200, by its data sheet: bytes and floating point operations (32
# bits, no tensor cores) in a second.
_BANDWIDTH = 4.8e12
_PEAK = 67e12
# Of a launch. Nobody measured it here; it is what is usually said.
_LAUNCH_SECONDS = (5e-6, 10e-6)


class Counts(NamedTuple):
  """Counts of a step of a client.

  Attributes:
    dynamic: In the dynamic form.
    static: In the static form; the batch is full.
    at_once: Of `_CLIENTS_AT_ONCE` clients, in the static form.
    program: In the static form, compiled by XLA.
  """

  dynamic: executed_operations.Executed
  static: executed_operations.Executed
  at_once: executed_operations.Executed
  program: compiled_step.StepProgram

  @property
  def executed(self) -> dict[str, executed_operations.Executed]:
    """The counts of what TensorFlow executes, by name of the form."""
    return {
      'dynamic': self.dynamic,
      'static': self.static,
      f'{_CLIENTS_AT_ONCE} clients at once': self.at_once,
    }


def measure(
  num_repetitions: int, size: federation_lib.Size = _SIZE
) -> measurement.Measurement:
  """Counts operations and kernels of a step, bytes and arithmetic.

  Args:
    num_repetitions: Not heeded: counts are the same each time.
    size: Of the federation, of whose model a step is counted.
  """
  del num_repetitions  # Unused.
  counts = _count(size)
  program = counts.program
  others = {'fusion', 'convolution', 'dot'}
  kernels = program.kernels
  values = {
    f'{form}: {name}': value
    for form, executed in counts.executed.items()
    for name, value in (
      ('operations', executed.num_operations),
      ('operations on floating point numbers', executed.num_arithmetic),
      ('megabytes read and written', executed.num_bytes / 1e6),
    )
  } | {
    'XLA: kernels': kernels.total(),
    'XLA: fusions': kernels['fusion'],
    'XLA: convolutions and products': kernels['convolution'] + kernels['dot'],
    'XLA: other kernels': sum(
      number for kind, number in kernels.items() if kind not in others
    ),
    'XLA: megabytes read and written': program.num_bytes / 1e6,
    'billions of floating point operations': program.num_flops / 1e9,
  }
  return measurement.Measurement(
    name='turn_counts',
    description=(
      'A step of a client of SemiFL, of ten strong views and ten mixtures:'
      f' WideResNet-{size.model_depth}-{size.model_width}, images of 32x32x3,'
      ' compiled for this CPU. Operations without those of control flow'
    ),
    unit='in a step',
    values={name: [float(value)] for name, value in values.items()},
  )


def estimate(
  num_repetitions: int, size: federation_lib.Size = _SIZE
) -> measurement.Measurement:
  """Estimates times on a GPU from the counts. Nobody measured them.

  Args:
    num_repetitions: Not heeded.
    size: Of the federation, of whose model a step is counted.
  """
  del num_repetitions  # Unused.
  counts = _count(size)
  program = counts.program
  cell = paper_cell.read()
  values = {}
  for name, launches, num_bytes, num_clients in (
    *(
      (
        name,
        executed.num_arithmetic,
        executed.num_bytes,
        _CLIENTS_AT_ONCE if executed is counts.at_once else 1,
      )
      for name, executed in counts.executed.items()
    ),
    ('XLA', program.kernels.total(), program.num_bytes, 1),
  ):
    seconds = [
      _seconds(launches, num_bytes, num_clients * program.num_flops, launch)
      for launch in _LAUNCH_SECONDS
    ]
    values[f'{name}: ms a step'] = [1e3 * each for each in seconds]
    values[f'{name}: hours of all steps'] = [
      cell.num_client_steps / num_clients * each / 3600 for each in seconds
    ]
  return measurement.Measurement(
    name='turn_estimate',
    description=(
      'An estimate, which nobody measured: steps of clients on an H200, if a'
      f' launch takes {1e6 * _LAUNCH_SECONDS[0]:.0f} to'
      f' {1e6 * _LAUNCH_SECONDS[1]:.0f} microseconds;'
      f' {cell.num_client_steps:,} steps in {cell.num_rounds} rounds'
    ),
    unit='ms or hours',
    values=values,
  )


def _seconds(
  launches: int, num_bytes: int, num_flops: int, launch_seconds: float
) -> float:
  """Returns the time of a step: launches and memory or arithmetic overlap."""
  return max(
    launches * launch_seconds, num_bytes / _BANDWIDTH, num_flops / _PEAK
  )


# Counts are for GPUs, and so are those of what is built for one.
@functools.lru_cache(maxsize=1)
@mock.patch.object(packing, 'largest', lambda: packing.LARGEST_ON_GPU)
def _count(size: federation_lib.Size) -> Counts:
  federation = federation_lib.Federation(size)
  weights, *_ = plain_round.initial_state(federation)
  images, *_ = federation.client_images
  batch_size = federation.system.client_turn.client_batch_size

  def arguments(num_batches: int):
    some_images = images[: num_batches * batch_size]
    return weights, tf.constant(0), tf.constant(some_images)

  def build_turn(form: turn_form.TurnForm):
    # Views are made before the steps. Without any, there is less to compile.
    client = copy.copy(federation)
    client.ingredients = dataclasses.replace(
      federation.ingredients,
      weak_augmentation=_keep,
      strong_augmentation=_keep,
      turn_form=form,
    )
    return plain_round.build_client_turn(client)

  *others, example = arguments(1)
  specs = [*others, tf.TensorSpec([None, *example.shape[1:]], example.dtype)]
  dynamic, static = (
    build_turn(form).get_concrete_function(*specs)
    for form in (turn_form.DYNAMIC, turn_form.STATIC)
  )
  # A client has its number and its images, and all have the same weights.
  is_own = [False] * len(tf.nest.flatten(weights)) + [True, True]
  at_once = turns_at_once.stack(static, is_own, _CLIENTS_AT_ONCE)

  def flat_arguments(num_batches: int):
    return [each.numpy() for each in tf.nest.flatten(arguments(num_batches))]

  def stacked_arguments(num_batches: int):
    values = [
      np.stack([value] * _CLIENTS_AT_ONCE) if own else value
      for value, own in zip(flat_arguments(num_batches), is_own, strict=True)
    ]
    return [*values, *(each.numpy() for each in static.captured_inputs)]

  # What the form compiles, as a function of which the program can be had.
  to_compile = dataclasses.replace(turn_form.COMPILED, run=turn_form.STATIC.run)
  compiled = tf.function(build_turn(to_compile), jit_compile=True)
  hlo = compiled.experimental_get_compiler_ir(*arguments(2))(
    stage='optimized_hlo'
  )
  return Counts(
    dynamic=_count_step(dynamic, flat_arguments),
    static=_count_step(static, flat_arguments),
    at_once=_count_step(at_once, stacked_arguments),
    program=compiled_step.count(hlo),
  )


def _count_step(function, arguments):
  """Counts what a second batch adds."""
  return executed_operations.count_added(function, arguments(1), arguments(2))


def _keep(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
  del seed  # Nothing is drawn.
  return images
