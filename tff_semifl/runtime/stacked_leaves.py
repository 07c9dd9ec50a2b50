# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""TensorFlow code of a computation that several clients run at once.

A step is then one of all these clients: their weights have the clients on their
first axis, and a convolution has a group of channels for each of them. On a GPU
that divides the number of launches by the number of clients.
"""

from collections.abc import Iterator, Sequence
import contextlib
import threading

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import leaf_graphs
from tff_semifl.runtime import leaf_parts
from tff_semifl.runtime import leaves
from tff_semifl.runtime import released


class StackedLeaf(leaves.Leaf):
  """A leaf that several clients may run at once."""

  def __init__(
    self, block: tff.framework.CompiledComputation, clients_at_once: int
  ):
    """Initializes the leaf.

    Args:
      block: The graph with its feeds, fetches and type.
      clients_at_once: How many clients run it at once, at most.
    """
    super().__init__(block)
    self._code = block.proto.tensorflow
    self._clients_at_once = clients_at_once
    self._parts_lock = threading.Lock()
    self._parts = None

  def read(self, argument: leaves.Value) -> list[tf.Tensor]:
    """Returns what a client computes with: tensors in place of datasets.

    Args:
      argument: As that of a call.

    Raises:
      errors.ComputationError: TensorFlow reported an error.
      errors.NotAtOnceError: The code cannot be run by several clients at once.
    """
    with _errors_of(self._type):
      return self._get_parts().read(leaves.flatten(argument))

  def group(self, inputs: Sequence[Sequence[tf.Tensor]]) -> list[list[int]]:
    """Shares out clients among groups that compute at once.

    Args:
      inputs: What `read` returned for each client.

    Returns:
      Groups of positions in `inputs`: of those whose tensors have equal shapes,
      no more than `clients_at_once`.
    """
    alike = {}
    for position, tensors in enumerate(inputs):
      shapes = tuple(tuple(tensor.shape) for tensor in tensors)
      alike.setdefault(shapes, []).append(position)
    size = self._clients_at_once
    return [
      positions[start : start + size]
      for positions in alike.values()
      for start in range(0, len(positions), size)
    ]

  def run_at_once(
    self, inputs: Sequence[Sequence[tf.Tensor]]
  ) -> list[leaves.Value]:
    """Runs the leaf for a group of clients.

    What runs is written for 1, 2, 4, 8 clients and so on, or for
    `clients_at_once`: to write it takes longer than to repeat the last client
    of a smaller group.

    Args:
      inputs: What `read` returned for each of them.

    Returns:
      The result of each.

    Raises:
      errors.ComputationError: TensorFlow reported an error.
      errors.NotAtOnceError: The code cannot be run by several clients at once.
    """
    number = len(inputs)
    size = min(1 << (number - 1).bit_length(), self._clients_at_once)
    repeated = [inputs[-1]] * (size - number)
    with _errors_of(self._type):
      results = self._get_parts().compute([*inputs, *repeated])
    return [
      leaves.unflatten(self._result, map(released.release_attributes, each))
      for each in results[:number]
    ]

  def _get_parts(self) -> leaf_parts.LeafParts:
    with self._parts_lock:
      if self._parts is None:
        self._parts = leaf_parts.LeafParts(
          leaf_graphs.read(self._code),
          self._feeds,
          list(leaves.flatten(self._result)),
        )
        self._code = None  # As large as the weights that are constants.
      return self._parts


@contextlib.contextmanager
def _errors_of(code_type: tff.Type) -> Iterator[None]:
  try:
    yield
  except tf.errors.OpError as error:
    raise leaves.failure(code_type, error) from error
