# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Prints as JSON which device runs which operations, with three logical CPUs.

TensorFlow has to know the number of devices before any other call, so that this
is a separate program, which `cohorts_test` runs.
"""

import json

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import runtime
from tff_semifl.runtime import cohorts
from tff_semifl.runtime import graph_functions
from tff_semifl.runtime import in_process
from tff_semifl.runtime import interpreter
from tff_semifl.runtime import stages
from tff_semifl.runtime import values

_SEQUENCE = tff.SequenceType(tff.TensorType(np.float32, [2, 2]))


def _build_computations():
  """A map at clients, and the mean of its results."""

  @tff.tensorflow.computation(_SEQUENCE)
  def work(dataset):
    """Multiplies matrices in a loop, and adds numbers in `tf.data`."""

    @tf.function
    def multiply(dataset):
      product = tf.eye(2)
      for matrix in iter(dataset):
        product = tf.matmul(product, matrix)
      return product

    return (
      multiply(dataset.map(lambda matrix: matrix / 3)),
      dataset.reduce(0.0, lambda total, matrix: total + tf.reduce_sum(matrix)),
    )

  @tff.federated_computation(tff.FederatedType(_SEQUENCE, tff.CLIENTS))
  def work_at_clients(datasets):
    return tff.federated_map(work, datasets)

  @tff.federated_computation(tff.FederatedType(_SEQUENCE, tff.CLIENTS))
  def mean(datasets):
    return tff.federated_mean(tff.federated_map(work, datasets))

  return work_at_clients, mean


def main() -> None:
  """Prints devices and results."""
  tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices('CPU')[0],
    [tf.config.LogicalDeviceConfiguration()] * 3,
  )
  # The first computation initializes TensorFlow.
  work_at_clients, mean = _build_computations()
  names = [device.name for device in tf.config.list_logical_devices()]
  generator = np.random.default_rng(0)
  datasets = [
    list(generator.normal(size=(4, 2, 2)).astype(np.float32)) for _ in range(5)
  ]

  # Results of a context have no device, unlike tensors inside.
  pool = cohorts.ClientPool(devices=names[1:])
  evaluate = stages.build_evaluate(
    in_process.compile_to_block(work_at_clients),
    graph_functions.GraphFunctionCache(),
  )
  scope = interpreter.Scope(cohorts.Cohort(len(datasets), pool), {})
  found = evaluate(scope)(
    values.embed(datasets, work_at_clients.type_signature.parameter)
  )
  means = []
  for devices, max_concurrent_clients in (
    (None, None),
    (names[1:], 1),
    (names[:2], 4),
    (names, None),
  ):
    with runtime.simulation_context(
      devices=devices, max_concurrent_clients=max_concurrent_clients
    ):
      means.append([array.tolist() for array in mean(datasets)])
  print(
    json.dumps(
      {
        'default': cohorts.ClientPool().devices,
        'computed': [[t.backing_device[-5:] for t in each] for each in found],
        'means': means,
      }
    )
  )


if __name__ == '__main__':
  main()
