# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Calls of TensorFlow functions and their tensors, with less time and memory.

Grappler optimizes a function twice when it is first called. The second pass
changes no result of a WideResNet-28-2 and saves no time in its rounds; without
it, the first round is compiled a fifth sooner. After one pass, remapping may
leave a loop's operation with an input from outside the loop, which TensorFlow
refuses to run; without remapping, a WideResNet trained as fast on a CPU.

On Python 3.11, TensorFlow 2.14 never frees the 16 to 48 bytes for attributes of
an eager tensor (issue 62551 of TensorFlow). A client update has more than a
hundred tensors, and a simulation may have millions of client updates. Tensors
of the runtime need no attributes, so this memory is freed at once.
"""

from collections.abc import Sequence
import functools
from typing import Any

import tensorflow as tf

from tff_semifl import private_api

# The empty attributes of all tensors.
_attributes = {}
# What Grappler does less than by default.
REWRITING = private_api.RewriterConfig(
  meta_optimizer_iterations=private_api.RewriterConfig.ONE,
  remapping=private_api.RewriterConfig.OFF,
)


def call(function: Any, tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
  """Calls a concrete function without captures with eager tensors.

  Skips the checks of `function.__call__`, which take a fifth of the time of a
  mean of many small arrays. (An op would be faster still, but is never freed.)
  """
  context = private_api.eager_context()
  # The options are local to this thread.
  before = context.function_call_options
  context.function_call_options = _limit_rewriting(
    before.config_proto_serialized, before.executor_type
  )
  try:
    return private_api.call_flat(function, tensors, [])
  finally:
    context.function_call_options = before


@functools.lru_cache(maxsize=8)
def _limit_rewriting(
  config: bytes, executor_type: str | None
) -> private_api.FunctionCallOptions:
  limited = tf.compat.v1.ConfigProto.FromString(config)
  limited.graph_options.rewrite_options.MergeFrom(REWRITING)
  return private_api.FunctionCallOptions(executor_type, limited)


def release_attributes(tensor: tf.Tensor) -> tf.Tensor:
  """Frees the memory for the attributes of a tensor, and returns the tensor."""
  if not tf.is_symbolic_tensor(tensor):
    tensor.__dict__ = _no_attributes()
  return tensor


def _no_attributes() -> dict[str, Any]:
  global _attributes
  if _attributes:
    # Code has set an attribute of a tensor, which others share.
    _attributes = {}
  return _attributes
