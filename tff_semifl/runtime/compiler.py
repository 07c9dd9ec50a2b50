# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Compiles a computation of TFF into the form that our runtimes execute.

The same steps as in TFF's own native context, but for one: that context also
sends every graph through grappler, which takes seconds for a network of
ordinary size and gains nothing that we could measure.
"""

import tensorflow_federated as tff

# A step of `transform_to_native_form`, which TFF does not export by itself.
from tensorflow_federated.python.core.environments.tensorflow_backend import (
  compiled_computation_transformations as graphs,
)


def compile_to_block(
  computation: tff.framework.ConcreteComputation,
) -> tff.framework.ComputationBuildingBlock:
  """Reduces a computation to calls of TensorFlow and few intrinsics.

  Args:
    computation: What to compile.

  Returns:
    An equivalent block in call-dominant form (see
    `tff.framework.to_call_dominant`). Its type has lost the Python containers.
  """
  # To write a computation down and read it again takes a second, of a network
  # of ordinary size: here it stays what it is.
  block = tff.framework.to_call_dominant(_replace_intrinsics(computation))
  return graphs.transform_tf_call_ops_to_disable_grappler(block)[0]


def compile_computation(
  computation: tff.framework.ConcreteComputation,
) -> tff.framework.ConcreteComputation:
  """Does the same for a computation that is sent to a worker.

  Args:
    computation: What to compile.

  Returns:
    An equivalent computation, in which each piece of TensorFlow code has an id
    by which a worker knows it again.
  """
  return tff.backends.native.transform_to_native_form(
    tff.framework.ConcreteComputation.from_building_block(
      _replace_intrinsics(computation)
    )
  )


def _replace_intrinsics(computation):
  """Turns means, sums and the like into aggregations."""
  # This adds TensorFlow code, so it comes first.
  block, _ = tff.tensorflow.replace_intrinsics_with_bodies(
    computation.to_building_block()
  )
  return block
