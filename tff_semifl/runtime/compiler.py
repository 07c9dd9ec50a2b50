# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Compiles a computation of TFF into the form that our runtimes execute."""

import tensorflow_federated as tff


def compile_computation(
  computation: tff.framework.ConcreteComputation,
) -> tff.framework.ConcreteComputation:
  """Reduces a computation to calls of TensorFlow and few intrinsics.

  The same steps as in TFF's own native context, but for one: that context also
  sends every graph through grappler at this place, which takes seconds for a
  network of ordinary size and gains nothing that we could measure.

  Args:
    computation: What to compile.

  Returns:
    An equivalent computation in call-dominant form (see
    `tff.framework.to_call_dominant`). Its type has lost the Python containers.
  """
  # Means, sums and the like become aggregations. This adds TensorFlow code, so
  # it has to come before the step that gives an id to each piece of it.
  block, _ = tff.tensorflow.replace_intrinsics_with_bodies(
    computation.to_building_block()
  )
  return tff.backends.native.transform_to_native_form(
    tff.framework.ConcreteComputation.from_building_block(block)
  )
