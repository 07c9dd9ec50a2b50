# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""TensorFlow code of a computation that has few threads where clients run it.

Several clients at a time, with a thread each, train faster than one with all
cores; the server, which is alone at work, needs all of them. TensorFlow gives
all operations of a device the same threads. But a session has devices of its
own: here the code of clients runs in one, with their threads, and the server's
as everything else does, with those of the process.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
import os
import threading
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import private_api
from tff_semifl.runtime import function_calls
from tff_semifl.runtime import leaf_graphs
from tff_semifl.runtime import leaves
from tff_semifl.runtime import released

# Makes TensorFlow create threads for each device, in place of some that all
# devices of a process share.
OWN_THREADS = 'TF_OVERRIDE_GLOBAL_THREADPOOL'


def check_environment() -> None:
  """Checks that devices have threads of their own.

  Raises:
    RuntimeError: The environment does not have `OWN_THREADS`, without which all
      devices share their threads. It has no effect after TensorFlow's first
      operation.
  """
  if os.environ.get(OWN_THREADS) not in ('1', 'true'):
    raise RuntimeError(
      f'Threads of clients need {OWN_THREADS}=true in the environment, before'
      ' the first operation of TensorFlow.'
    )


class LimitedLeaf(leaves.Leaf):
  """A leaf whose operations have few threads where a client runs it."""

  def __init__(
    self, block: tff.framework.CompiledComputation, threads_per_operation: int
  ):
    """Initializes the leaf.

    Args:
      block: The graph with its feeds, fetches and type.
      threads_per_operation: CPU threads of an operation at a client.
    """
    super().__init__(block)
    self._code = block.proto.tensorflow
    self._threads_per_operation = threads_per_operation
    self._run_lock = threading.Lock()
    self._run = None

  def run_at_client(self, argument: leaves.Value) -> leaves.Value:
    """Runs the leaf as a call does, with the threads of a client.

    Code that reads a dataset piece by piece has those of the process.

    Args:
      argument: As that of a call.

    Raises:
      errors.ComputationError: TensorFlow reported an error.
    """
    run = self._get_run()
    if run is None:
      return self(argument)
    try:
      fetched = run(list(leaves.flatten(argument)))
    except tf.errors.OpError as error:
      raise leaves.failure(self._type, error) from error
    return leaves.unflatten(
      self._result, map(released.release_attributes, fetched)
    )

  def _get_run(self):
    with self._run_lock:
      if self._code is not None:
        self._run = _build(
          leaf_graphs.read(self._code),
          self._feeds,
          list(leaves.flatten(self._result)),
          self._threads_per_operation,
        )
        self._code = None  # As large as the weights that are constants.
      return self._run


def _build(
  graph_def: tf.compat.v1.GraphDef,
  feeds: Sequence[str],
  fetches: Sequence[str],
  threads_per_operation: int,
) -> Callable[[Sequence[tf.Tensor]], list[tf.Tensor]] | None:
  """Returns a graph as a function that runs in a session.

  Nobody can give a session a dataset: what is read from one is read before.

  Args:
    graph_def: The graph.
    feeds: Names of tensors that are given, of placeholders.
    fetches: Names of tensors that are wanted.
    threads_per_operation: CPU threads of an operation.

  Returns:
    A function from the feeds to the fetches; None if the graph does more with a
    dataset than to read from it once, or nothing but that.
  """
  nodes = {node.name: node for node in graph_def.node}
  given = {_complete(name): index for index, name in enumerate(feeds)}
  inputs, part = _find_part(nodes, given, fetches)
  if all(node.op in ('Const', 'Identity', 'NoOp') for node in part):
    return None
  read_inputs = [name for name in inputs if name not in given]
  read, read_feeds = leaves.import_part(graph_def, feeds, read_inputs)
  specs = {
    name: leaves.placeholder_spec(nodes[leaf_graphs.node_name(name)])
    for name in given
  }
  specs.update(zip(read_inputs, read.outputs, strict=True))
  with tf.Graph().as_default() as graph:
    placeholders = {
      name: tf.compat.v1.placeholder(specs[name].dtype, specs[name].shape)
      for name in inputs
    }
    computed = [name for name in fetches if _complete(name) not in inputs]
    outputs = placeholders | dict(
      zip(
        map(_complete, computed),
        tf.graph_util.import_graph_def(
          tf.compat.v1.GraphDef(
            node=part,
            library=graph_def.library,
            versions=graph_def.versions,
          ),
          placeholders,
          computed,
          name='',
        ),
        strict=True,
      )
    )
  if any(each.dtype == tf.variant for each in outputs.values()):
    return None
  session = tf.compat.v1.Session(
    graph=graph,
    config=tf.compat.v1.ConfigProto(
      device_count={'GPU': 0},
      intra_op_parallelism_threads=threads_per_operation,
      graph_options=tf.compat.v1.GraphOptions(
        rewrite_options=private_api.RewriterConfig(
          meta_optimizer_iterations=function_calls.NUM_PASSES
        )
      ),
    ),
  )
  options = private_api.CallableOptions(
    feed=[each.name for each in placeholders.values()],
    fetch=[outputs[_complete(name)].name for name in fetches],
  )
  # Optimizes the graph now, once; with `make_callable` each of several clients
  # at a time would do so at its first call.
  call = private_api.make_callable(session, options)

  def run(tensors):
    found = function_calls.call(read, [tensors[index] for index in read_feeds])
    values = dict(zip(read_inputs, found, strict=True))
    values |= {name: tensors[index] for name, index in given.items()}
    # Neither copies anything, unless memory begins at an odd address.
    fetched = call(*(values[name].numpy() for name in inputs))
    return [tf.convert_to_tensor(each) for each in fetched]

  return run


def _find_part(
  nodes: Mapping[str, Any], given: Collection[str], fetches: Sequence[str]
) -> tuple[list[str], list[Any]]:
  """Returns the part of a graph between what is given or read and the fetches.

  Args:
    nodes: Those of the graph, by name.
    given: Complete names of tensors that are given.
    fetches: Names of tensors that are wanted.

  Returns:
    The complete names of the tensors that it begins with, and its nodes.
  """
  inputs, part, pending = {}, {}, list(fetches)
  while pending:
    name = pending.pop()
    node = nodes[leaf_graphs.node_name(name)]
    is_end = _complete(name) in given or _reads_dataset(node)
    if is_end and not name.startswith('^'):
      inputs[_complete(name)] = None
    elif node.name not in part:
      part[node.name] = node
      pending.extend(node.input)
  return list(inputs), list(part.values())


def _reads_dataset(node) -> bool:
  return 'Dataset' in node.op and any(
    each.type != tf.variant.as_datatype_enum
    for each in private_api.op_def_registry.get(node.op).output_arg
  )


def _complete(name: str) -> str:
  """Returns the name of a tensor with the number of the output."""
  return name if ':' in name else f'{name}:0'
