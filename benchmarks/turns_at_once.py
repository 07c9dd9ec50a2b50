# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The turn of a client as a function of several clients at once."""

from collections.abc import Sequence

import tensorflow as tf

from tff_semifl.runtime import graphs
from tff_semifl.runtime import stacked_functions


def stack(
  turn: tf.types.experimental.ConcreteFunction,
  is_own: Sequence[bool],
  num_clients: int,
) -> tf.types.experimental.ConcreteFunction:
  """Returns a turn for several clients, as `--clients_at_once` makes it.

  Args:
    turn: The turn of one client, in the static form.
    is_own: Which of its inputs each client has its own of; the others all
      clients have in common.
    num_clients: How many clients.

  Returns:
    A function of the inputs of `turn`, with what it captures after them. Those
    that each client has its own of have the clients on their first axis.
  """
  graph_def = turn.graph.as_graph_def()
  # No two graphs may have different functions of one name.
  names = [function.signature.name for function in graph_def.library.function]
  graphs.rename_functions(
    graph_def, {name: f'{name}_stacked' for name in names}
  )
  stacked = stacked_functions.StackedGraph(graph_def)
  inputs, outputs = (
    [stacked.of_client.graph.get_tensor_by_name(each.name) for each in tensors]
    for tensors in (turn.inputs, turn.outputs)
  )
  kinds = [*is_own, *([False] * len(turn.captured_inputs))]

  @tf.function(autograph=False)
  def run(*values):
    results, _ = stacked.build(inputs, outputs, values, kinds, num_clients)
    return results

  return run.get_concrete_function(
    *(
      tf.TensorSpec(
        [num_clients, *each.shape] if own else each.shape, each.dtype
      )
      for each, own in zip(inputs, kinds, strict=True)
    )
  )
