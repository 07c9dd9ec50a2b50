# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The cost of sending a model to clients and of taking their mean."""

import contextlib

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from benchmarks import measurement
from tff_semifl import runtime


def measure(
  num_repetitions: int,
  *,
  num_parameters: int = 1_467_610,
  num_arrays: int = 80,
  num_clients: int = 10,
) -> measurement.Measurement:
  """Measures a broadcast and the mean of what comes back, in both runtimes.

  Args:
    num_repetitions: Times for each runtime.
    num_parameters: Parameters of the model; by default WideResNet-28-2's.
    num_arrays: Arrays that they are in.
    num_clients: Clients.
  """
  sizes = [
    len(part) for part in np.array_split(range(num_parameters), num_arrays)
  ]
  model_type = tff.types.to_type([(np.float32, [size]) for size in sizes])
  model = [np.ones([size], np.float32) for size in sizes]

  @tff.tensorflow.computation(model_type)
  def work(arrays):
    return [array + 1.0 for array in arrays]

  @tff.federated_computation(tff.FederatedType(model_type, tff.SERVER))
  def round_trip(arrays):
    # The clients are those of the context: nothing else is at them.
    received = tff.federated_broadcast(arrays)
    return tff.federated_mean(tff.federated_map(work, received))

  with contextlib.ExitStack() as stack:
    alternatives = {
      'plain TensorFlow': _plain(model, num_clients),
    }
    for name, kind in (('in process', 'in_process'), ('native', 'native')):
      context = stack.enter_context(
        runtime.simulation_context(kind, default_num_clients=num_clients)
      )
      alternatives[name] = measurement.in_context(
        context, lambda: round_trip(model)
      )
    seconds = measurement.time_in_turns(alternatives, num_repetitions)
  return measurement.Measurement(
    name='aggregation',
    description=(
      f'Broadcast of {num_parameters:,} parameters in {num_arrays} arrays to'
      f' {num_clients} clients, and their mean back'
    ),
    unit='s',
    values=seconds,
    target='at most 0.05 s in process',
  )


def _plain(model, num_clients):
  @tf.function
  def work(arrays):
    return [array + 1.0 for array in arrays]

  @tf.function
  def mean(results):
    return [
      tf.add_n(parts) / num_clients for parts in zip(*results, strict=True)
    ]

  def run() -> None:
    tensors = [tf.constant(array) for array in model]
    for array in mean([work(tensors) for _ in range(num_clients)]):
      array.numpy()

  return run
