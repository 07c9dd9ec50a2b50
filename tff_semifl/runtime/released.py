# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Frees memory that TensorFlow keeps for unused tensors.

On Python 3.11, TensorFlow 2.14 never frees the 16 to 48 bytes for attributes of
an eager tensor (issue 62551 of TensorFlow). A client update has more than a
hundred tensors, and a simulation may have millions of client updates. Tensors
of the runtime need no attributes, so this memory is freed at once.
"""

from typing import Any

import tensorflow as tf

# The empty attributes of all tensors.
_attributes = {}


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
