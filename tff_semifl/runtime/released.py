# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Gives back what TensorFlow keeps of a tensor that nobody uses any more.

On Python 3.11, TensorFlow 2.14 never frees the room for the attributes of an
eager tensor, 16 to 48 bytes (issue 62551 of TensorFlow). A client's turn has a
hundred tensors and more, and a simulation may have millions of turns. Tensors
of the runtime need no attributes, so that the room is freed when they are made.
"""

from typing import Any

import tensorflow as tf

# What tensors have in place of their own attributes: they have none.
_attributes = {}


def release_attributes(tensor: tf.Tensor) -> tf.Tensor:
  """Frees the room for the attributes of a tensor.

  Args:
    tensor: A tensor that nobody else knows. It may share the attributes that it
      is given later with others of this kind.

  Returns:
    The tensor.
  """
  if not tf.is_symbolic_tensor(tensor):
    tensor.__dict__ = _no_attributes()
  return tensor


def _no_attributes() -> dict[str, Any]:
  global _attributes
  if _attributes:
    # One that is still used was given an attribute.
    _attributes = {}
  return _attributes
