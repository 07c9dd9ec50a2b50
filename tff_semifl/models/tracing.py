# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tracing of functions by `tf.function`."""

from collections.abc import Callable
from typing import Any


def as_it_is(fn: Callable[..., Any]) -> Callable[..., Any]:
  """Exempts a function, but not what TensorFlow or Keras calls, from AutoGraph.

  AutoGraph converts everything that a `tf.function` calls, which takes four
  seconds for a client update. `autograph=False` would also turn off conversions
  that TensorFlow and Keras request: of layers' `call`, and of functions passed
  to operations such as `tf.map_fn`.

  Args:
    fn: A function of positional arguments, without `if` and loops on tensors.
  """

  def call(*arguments: Any) -> Any:
    # AutoGraph skips what has no Python code, such as this method wrapper.
    return fn.__call__(*arguments)

  # For TensorFlow's errors and profiles.
  call.__name__ = fn.__name__
  return call
