# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Prints a sum that clients on a Ray cluster have computed.

To be run as `python -m tests.runtime.ray_sum ADDRESS`.
"""

import sys

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import runtime


@tff.tensorflow.computation(np.int32)
def _square(number):
  return tf.square(number)


@tff.federated_computation(tff.FederatedType(np.int32, tff.CLIENTS))
def _sum_of_squares(numbers):
  return tff.federated_sum(tff.federated_map(_square, numbers))


def main(address: str) -> None:
  """Runs the program."""
  with runtime.simulation_context(
    'ray', ray=runtime.RayOptions(address=address)
  ):
    print(_sum_of_squares([1, 2, 3]))


if __name__ == '__main__':
  main(*sys.argv[1:])
