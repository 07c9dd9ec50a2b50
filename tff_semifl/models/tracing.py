# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The tracing of functions by `tf.function`."""

from collections.abc import Callable
from typing import Any


def as_it_is(fn: Callable[..., Any]) -> Callable[..., Any]:
  """Returns a function that AutoGraph does not translate, for `tf.function`.

  Of what a `tf.function` calls AutoGraph translates all, which for the turn of
  a client takes four seconds. With `autograph=False` it would not even
  translate what TensorFlow and Keras otherwise have translated: what layers do,
  and functions that are given to operations such as `tf.map_fn`. These may
  have an `if` on a tensor.

  Args:
    fn: A function of positional arguments, which itself has no `if` and no loop
      on tensors.
  """

  def call(*arguments: Any) -> Any:
    # AutoGraph only translates what has Python code. This method of a function
    # has none.
    return fn.__call__(*arguments)

  # TensorFlow's errors and profiles have it.
  call.__name__ = fn.__name__
  return call
