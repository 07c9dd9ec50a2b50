# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Gives back what TensorFlow keeps of a tensor that nobody uses any more.

On Python 3.11, TensorFlow 2.14 never frees the room for the attributes of an
eager tensor, 16 to 48 bytes (issue 62551 of TensorFlow). A client's turn leaves
a hundred tensors and more, and a simulation may have millions of turns.
"""

from typing import Any

import tensorflow as tf

# What tensors have in place of their own attributes: they have none.
_attributes = {}


def release(value: Any) -> None:
  """Frees the room for attributes of tensors.

  A tensor can still be used, but without its attributes, and it may share those
  that it is given later with others that were released.

  Args:
    value: Nested lists of tensors and of what has no such room.
  """
  if isinstance(value, list):
    for part in value:
      release(part)
  elif isinstance(value, tf.Tensor):
    value.__dict__ = _no_attributes()


def _no_attributes() -> dict[str, Any]:
  global _attributes
  if _attributes:
    # One that is still used was given an attribute.
    _attributes = {}
  return _attributes
