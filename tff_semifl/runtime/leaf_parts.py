# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The parts of a graph that several clients run at once.

Each client reads its dataset; all compute at once with what was read; each
drops padding from its results, which have different lengths then.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
import threading
from typing import Any

import tensorflow as tf

from tff_semifl.runtime import errors
from tff_semifl.runtime import function_calls
from tff_semifl.runtime import leaf_graphs
from tff_semifl.runtime import stacked_functions
from tff_semifl.runtime import stacked_operations


class LeafParts:
  """The three parts of a graph."""

  def __init__(
    self,
    graph_def: tf.compat.v1.GraphDef,
    feeds: Sequence[str],
    fetches: Sequence[str],
  ):
    """Initializes the parts.

    Args:
      graph_def: The graph, which is changed.
      feeds: Names of tensors that a client gives.
      fetches: Names of tensors that it wants.

    Raises:
      errors.NotAtOnceError: Too much of it has to be done by each client.
    """
    self._stacked = stacked_functions.StackedGraph(graph_def)
    graph = self._stacked.of_client.graph
    self._feeds = [graph.get_tensor_by_name(name) for name in feeds]
    self._fetches = [graph.get_tensor_by_name(name) for name in fetches]
    ragged = _find_descendants(graph, stacked_operations.RAGGED)
    if any(op.type in leaf_graphs.LOOPS for op in ragged):
      raise errors.NotAtOnceError(
        'Tensors whose shapes depend on the images of a client go into a loop.'
        ' Clients at once need turns of static form.'
      )
    # What is computed at once.
    self._outputs = _unique(
      tensor
      for tensor in (
        *self._fetches,
        *(tensor for op in ragged for tensor in op.inputs),
      )
      if tensor.op not in ragged
    )
    self._inputs = _find_ends(self._outputs, _is_read)
    self._read = self._for_one_client(self._inputs, lambda tensor: False)
    outputs = {each.ref() for each in self._outputs}
    self._finish = self._for_one_client(
      self._fetches, lambda tensor: tensor.ref() in outputs
    )
    self._compute_alone = None
    self._functions = {}
    self._lock = threading.Lock()

  def read(self, values: Iterable[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the inputs of what is computed at once.

    Args:
      values: Those of the feeds, of one client.
    """
    return self._read(dict(zip(_refs(self._feeds), values, strict=True)))

  def compute(
    self, inputs: Sequence[Sequence[tf.Tensor]]
  ) -> list[list[tf.Tensor]]:
    """Returns the values of the fetches for each client.

    Args:
      inputs: What `read` returned for each.

    Raises:
      errors.NotAtOnceError: An operation cannot be run for several clients.
    """
    number = len(inputs)
    if number == 1:
      return [self._compute_for_one(inputs[0])]
    by_input = list(zip(*inputs, strict=True))
    is_stacked = tuple(
      any(value is not values[0] for value in values) for values in by_input
    )
    function, kinds = self._get_function(is_stacked, number)
    outputs = function_calls.call(
      function,
      [
        tf.stack(values) if kind else values[0]
        for values, kind in zip(by_input, is_stacked, strict=True)
      ],
    )
    by_output = [
      tf.unstack(output, num=number) if kind else [output] * number
      for output, kind in zip(outputs, kinds, strict=True)
    ]
    refs = _refs(self._outputs)
    return [
      self._finish(dict(zip(refs, values, strict=True)))
      for values in zip(*by_output, strict=True)
    ]

  def _compute_for_one(self, inputs):
    with self._lock:
      if self._compute_alone is None:
        self._compute_alone = self._for_one_client(self._fetches, _is_read)
    return self._compute_alone(
      dict(zip(_refs(self._inputs), inputs, strict=True))
    )

  def _for_one_client(self, fetches, is_end):
    """Returns a function from values, by tensor, to those of the fetches."""
    wanted = [each for each in fetches if not _is_given(each, is_end)]
    feeds = _find_ends(wanted, is_end)
    function = (
      self._stacked.of_client.create_part(feeds, wanted) if wanted else None
    )

    def run(values):
      if function is not None:
        found = function([values[ref] for ref in _refs(feeds)])
        values = {**values, **dict(zip(_refs(wanted), found, strict=True))}
      return [values[ref] for ref in _refs(fetches)]

    return run

  def _get_function(self, is_stacked: tuple[bool, ...], number: int):
    """Returns what computes at once, and which outputs are of each client."""
    with self._lock:
      if (is_stacked, number) not in self._functions:
        kinds = []

        def run(*values):
          outputs, stacked = self._stacked.build(
            self._inputs, self._outputs, values, is_stacked, number
          )
          kinds[:] = stacked
          return outputs

        specs = [
          tf.TensorSpec(
            [number, *each.shape] if kind else each.shape, each.dtype
          )
          for each, kind in zip(self._inputs, is_stacked, strict=True)
        ]
        function = tf.function(run, autograph=False)
        self._functions[is_stacked, number] = (
          function.get_concrete_function(*specs),
          kinds,
        )
      return self._functions[is_stacked, number]


def _is_read(tensor: tf.Tensor) -> bool:
  """Returns whether a tensor is read from a dataset."""
  return 'Dataset' in tensor.op.type and tensor.dtype != tf.variant


def _is_given(tensor: tf.Tensor, is_end: Callable[[tf.Tensor], bool]) -> bool:
  return tensor.op.type == 'Placeholder' or is_end(tensor)


def _find_ends(
  tensors: Iterable[tf.Tensor], is_end: Callable[[tf.Tensor], bool]
) -> list[tf.Tensor]:
  """Returns what tensors depend on: feeds, and what is an end before these."""
  found, ends, pending = set(), [], list(tensors)
  while pending:
    tensor = pending.pop()
    if tensor.ref() in found:
      continue
    found.add(tensor.ref())
    if _is_given(tensor, is_end):
      ends.append(tensor)
    else:
      pending.extend(tensor.op.inputs)
      for op in tensor.op.control_inputs:
        pending.extend([*op.inputs, *op.outputs])
  return ends


def _find_descendants(
  graph: tf.Graph, op_types: Collection[str]
) -> set[tf.Operation]:
  """Returns operations of some types, and those that depend on one."""
  pending = [op for op in graph.get_operations() if op.type in op_types]
  found = set()
  while pending:
    op = pending.pop()
    if op not in found:
      found.add(op)
      for output in op.outputs:
        pending.extend(output.consumers())
  return found


def _unique(tensors: Iterable[tf.Tensor]) -> list[tf.Tensor]:
  return list({tensor.ref(): tensor for tensor in tensors}.values())


def _refs(tensors: Iterable[tf.Tensor]) -> list[Any]:
  return [tensor.ref() for tensor in tensors]
