# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Folds a dataset to one value, on the GPU if there is one."""

from collections.abc import Callable
from typing import Any, TypeVar

import tensorflow as tf

_Total = TypeVar('_Total')

# Optimizing and tuning a dataset takes longer than reading a client's few
# chunks: 9 ms instead of 1.4 ms for one chunk.
_AS_IT_IS = tf.data.Options()
_AS_IT_IS.experimental_optimization.apply_default_optimizations = False
_AS_IT_IS.autotune.enabled = False


def fold(
  dataset: tf.data.Dataset,
  initial: _Total,
  add_fn: Callable[[_Total, Any], _Total],
  shapes: Any = None,
) -> _Total:
  """Reduces a dataset to one value, in the order of its elements.

  Runs on the GPU if there is one; `tf.data.Dataset.reduce` never does.

  `add_fn` maps (result, element) to the next result. `shapes`, a structure like
  `initial`, is needed only if the shapes of results change.
  """

  # `iter` needs a function. AutoGraph only costs time.
  @tf.function(autograph=False)
  def run(dataset: tf.data.Dataset) -> _Total:
    iterator = iter(dataset.with_options(_AS_IT_IS))

    def step(element: tf.experimental.Optional, total: _Total):
      total = add_fn(total, element.get_value())
      return iterator.get_next_as_optional(), total

    first = iterator.get_next_as_optional()
    invariants = None
    if shapes is not None:
      invariants = (tf.type_spec_from_value(first), shapes)
    _, total = tf.while_loop(
      lambda element, _: element.has_value(),
      step,
      (first, initial),
      shape_invariants=invariants,
    )
    return total

  return run(dataset)
