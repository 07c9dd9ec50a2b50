# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A client update on a device: its time, and its error relative to the CPU."""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import dataclasses
import time
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from benchmarks import federation as federation_lib
from benchmarks import measurement
from tff_semifl import runtime
from tff_semifl.algorithms import round_parts
from tff_semifl.core import client_work
from tff_semifl.core import federated_process
from tff_semifl.models import functional

_CONTEXT_TYPE = tff.types.to_type(
  federated_process.RoundContext(np.int32, np.int32, np.float32)
)
# The forms of the client update, and whether XLA compiles it.
FORMS = {'dynamic': False, 'XLA': True}
# Three batches in one epoch, the last with padding. Rounding errors grow with
# steps, while bugs show in the first step.
_NUM_IMAGES = 24
# The tolerance for sums in another order, whose errors are as large as after a
# change of each weight in its last bits. A few of a million activations near
# zero then change sign, and each changes a gradient by some tenths of a
# percent. Errors are thus not proportional to changes, and vary randomly. TF32,
# which rounds to 2**-11, would exceed the tolerance by far.
_CHANGE = 2.0**-20
_NUM_CHANGES = 3
_MARGIN = 5
# An array whose update is smaller than this, relative to the mean of all
# arrays, has a gradient of rounding errors only: a bias before normalization.
_LEAST_CHANGE = 1e-4
_TOLERANCE = 'tolerance'
_CPU = '/device:CPU:0'


def compare(device: str, size: federation_lib.Size) -> measurement.Measurement:
  """Compares a short client update, in each of `FORMS`, with the CPU's update.

  All updates draw the same random numbers, and none uses TF32.

  Returns:
    For each form, the largest relative error of an array of the update; and the
    tolerance.
  """
  federation = federation_lib.Federation(
    size._replace(num_clients=1, images_per_client=_NUM_IMAGES, num_epochs=1)
  )
  weights = federation.classifier.initial_weights
  with _without_tf32():
    with runtime.simulation_context(devices=[_CPU]):
      update = build_update(federation, jit_compile=False)
      expected = _take(update, weights)
      changed = [
        _take(update, _change_a_little(weights, seed))
        for seed in range(_NUM_CHANGES)
      ]
    with runtime.simulation_context(devices=[device]):
      found = {
        name: _take(build_update(federation, jit_compile=form), weights)
        for name, form in FORMS.items()
      }
  errors = {name: _error(update, expected) for name, update in found.items()}
  tolerance = _MARGIN * max(_error(update, expected) for update in changed)
  return measurement.Measurement(
    name='numbers',
    description=(
      f'Numbers of {device} beside those of the CPU: the largest error of an'
      f' array of the update after {federation.num_client_steps} steps, by its'
      f' length. {_describe_model(size)}'
    ),
    unit='relative error',
    values={name: [error] for name, error in errors.items()}
    | {_TOLERANCE: [tolerance]},
    target=(
      f'at most the tolerance, {_MARGIN} times what changes of all weights by'
      f' {_CHANGE:.1e} of themselves make on the CPU'
    ),
  )


def are_equal(compared: measurement.Measurement) -> bool:
  """Whether all errors of `compare` are within the tolerance."""
  [tolerance] = compared.values[_TOLERANCE]
  # A comparison with NaN is false.
  return all(error <= tolerance for [error] in compared.values.values())


def measure(
  device: str, size: federation_lib.Size, num_repetitions: int
) -> Iterator[measurement.Measurement]:
  """Measures client updates in each of `FORMS`.

  Yields:
    The time of first updates, with tracing and compilation, and the time per
    step of later updates, with pseudo-labels and augmentation.
  """
  federation = federation_lib.Federation(size._replace(num_clients=1))
  weights = federation.classifier.initial_weights
  first, others = {}, {name: [] for name in FORMS}
  with runtime.simulation_context(devices=[device]):
    updates = {
      name: build_update(federation, jit_compile=form)
      for name, form in FORMS.items()
    }
    for name, update in updates.items():
      first[name] = _time(update, weights)
    for _ in range(num_repetitions):
      for name, update in updates.items():
        others[name].append(_time(update, weights))
  yield measurement.Measurement(
    name='first_update',
    description=f'The first client update on {device}: {federation.size}',
    unit='s',
    values={name: [seconds] for name, seconds in first.items()},
  )
  num_steps = federation.num_client_steps
  yield measurement.Measurement(
    name='step',
    description=(
      f'A step of a client on {device}, of {num_steps} in an update:'
      f' {_describe_model(size)}'
    ),
    unit='ms',
    values={
      name: [1e3 * seconds / num_steps for seconds in times]
      for name, times in others.items()
    },
    compared_with='dynamic',
  )


def build_update(
  federation: federation_lib.Federation, *, jit_compile: bool
) -> Callable[[functional.ModelWeights], Any]:
  """Builds the first client's update in round 1: weights -> `ClientResult`."""
  system, classifier = federation.system, federation.classifier
  optimizer = system.optimizer.build()
  work = client_work.build_client_work(
    classifier,
    round_parts.build_local_training(
      system.client,
      dataclasses.replace(federation.ingredients, jit_compile=jit_compile),
      optimizer,
      system.local_training,
    ),
    optimizer=optimizer,
    max_update_norm_ratio=system.averaging.max_update_norm_ratio,
  )

  @tff.tensorflow.computation(
    (classifier.weights_type, _CONTEXT_TYPE), work.data_type
  )
  def update(received, dataset):
    result, _ = work.update(received, dataset)
    return result

  context = federated_process.RoundContext(
    federation.ingredients.seed, 1, np.float32(0.03)
  )
  [data] = federation.client_data()[:1]
  return lambda weights: update((weights, context), data)


def _time(update, weights: functional.ModelWeights) -> float:
  start = time.perf_counter()
  update(weights)
  return time.perf_counter() - start


def _describe_model(size: federation_lib.Size) -> str:
  return f'WideResNet-{size.model_depth}-{size.model_width}'


@contextlib.contextmanager
def _without_tf32() -> Iterator[None]:
  before = tf.config.experimental.tensor_float_32_execution_enabled()
  tf.config.experimental.enable_tensor_float_32_execution(False)
  try:
    yield
  finally:
    tf.config.experimental.enable_tensor_float_32_execution(before)


def _take(update, weights: functional.ModelWeights) -> Sequence[np.ndarray]:
  """The client's update of these weights, as a list of arrays."""
  return tf.nest.flatten(update(weights).update)


def _change_a_little(
  weights: functional.ModelWeights, seed: int
) -> functional.ModelWeights:
  """Moves each weight a little, up or down."""
  generator = np.random.default_rng(seed)
  factors = np.float32([1 - _CHANGE, 1 + _CHANGE])
  return weights._replace(
    trainable=tuple(
      each * generator.choice(factors, np.shape(each))
      for each in weights.trainable
    )
  )


def _error(
  found: Sequence[np.ndarray], expected: Sequence[np.ndarray]
) -> float:
  """The largest error of an array, relative to the norm of the array."""
  spreads = [_root_mean_square(each) for each in expected]
  least = _LEAST_CHANGE * np.mean(spreads)
  return max(
    _root_mean_square(one - other) / spread
    for one, other, spread in zip(found, expected, spreads, strict=True)
    if spread >= least
  )


def _root_mean_square(array: np.ndarray) -> float:
  return float(np.sqrt(np.mean(np.square(array))))
