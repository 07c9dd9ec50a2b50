# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Calls of TensorFlow functions that are as soon ready as they can be.

TensorFlow optimizes a function when it is first called: Grappler, its optimizer
of graphs, goes through it twice. A second pass changes no number of a
WideResNet-28-2 and saves no time in its rounds; without it, what is compiled
for the first of them is ready a fifth sooner.
"""

from collections.abc import Sequence
import functools
from typing import Any

import tensorflow as tf

from tff_semifl import private_api

NUM_PASSES = private_api.RewriterConfig.ONE


def call(function: Any, tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
  """Calls a function, outside of any graph.

  It spares what the function's own call does, to look at each tensor in Python:
  a fifth of the time that a mean of many small arrays takes. (As an op the call
  would be faster still, but never be freed.)

  Args:
    function: A concrete function that captures nothing.
    tensors: The arguments, eager tensors.

  Returns:
    The results.

  Raises:
    tf.errors.OpError: TensorFlow reported an error.
  """
  context = private_api.eager_context()
  # Of this thread.
  before = context.function_call_options
  context.function_call_options = _limit_passes(
    before.config_proto_serialized, before.executor_type
  )
  try:
    return private_api.call_flat(function, tensors, [])
  finally:
    context.function_call_options = before


@functools.lru_cache(maxsize=8)
def _limit_passes(
  config: bytes, executor_type: str | None
) -> private_api.FunctionCallOptions:
  limited = tf.compat.v1.ConfigProto.FromString(config)
  rewriting = limited.graph_options.rewrite_options
  rewriting.meta_optimizer_iterations = NUM_PASSES
  return private_api.FunctionCallOptions(executor_type, limited)
