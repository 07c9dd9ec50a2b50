# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Graph functions that use few CPU threads per operation at clients.

Several concurrent clients with one thread each train faster than one client
with all cores, but the server works alone and needs all cores. TensorFlow has
one number of threads for all operations of a device, but a session has its own
devices. Client code therefore runs in a session, and server code outside.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
import os
import threading
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import private_api
from tff_semifl.runtime import eager
from tff_semifl.runtime import errors
from tff_semifl.runtime import function_graphs
from tff_semifl.runtime import graph_functions

# Gives each device its own threads, instead of one pool for all devices.
OWN_THREADS = 'TF_OVERRIDE_GLOBAL_THREADPOOL'

_CALLS = ('PartitionedCall', 'StatefulPartitionedCall')


def check_environment() -> None:
  """Checks that devices have their own threads."""
  if os.environ.get(OWN_THREADS) not in ('1', 'true'):
    raise RuntimeError(
      f'Threads of clients need {OWN_THREADS}=true in the environment, before'
      ' the first operation of TensorFlow.'
    )


class LimitedFunction(graph_functions.GraphFunction):
  """A graph function with few threads per operation at clients."""

  def __init__(
    self, block: tff.framework.CompiledComputation, threads_per_operation: int
  ):
    """Initializes the graph function."""
    super().__init__(block)
    self._code = block.proto.tensorflow
    self._threads_per_operation = threads_per_operation
    self._run_lock = threading.Lock()
    self._run = None

  def run_at_client(
    self, argument: graph_functions.Value
  ) -> graph_functions.Value:
    """Runs the graph function like `__call__`, with the threads of a client.

    Code without a loop, or that reads a dataset piece by piece, uses the
    threads of the process.
    """
    run = self._get_run()
    if run is None:
      return self(argument)
    try:
      fetched = run(list(graph_functions.flatten(argument)))
    except tf.errors.OpError as error:
      raise errors.of_code(self._type, error) from error
    return graph_functions.unflatten(
      self._result, map(eager.release_attributes, fetched)
    )

  def _get_run(self):
    with self._run_lock:
      if self._code is not None:
        self._run = _build(
          function_graphs.read(self._code),
          self._feeds,
          list(graph_functions.flatten(self._result)),
          self._threads_per_operation,
        )
        self._code = None  # Frees constants, which may include weights.
      return self._run


def _build(
  graph_def: tf.compat.v1.GraphDef,
  feeds: Sequence[str],
  fetches: Sequence[str],
  threads_per_operation: int,
) -> Callable[[Sequence[tf.Tensor]], list[tf.Tensor]] | None:
  """A function from feeds to fetches that runs a graph in a session.

  A session cannot be fed a dataset, so the dataset's content is read before.
  None if the graph has no loop, does more with a dataset than read it once, or
  if nothing but reading is left to compute.
  """
  if not function_graphs.has_loop(graph_def):
    return None
  nodes = {node.name: node for node in graph_def.node}
  given = {_complete(name): index for index, name in enumerate(feeds)}
  inputs, part = _find_part(nodes, given, fetches)
  if all(node.op in ('Const', 'Identity', 'NoOp') for node in part):
    return None
  read_inputs = [name for name in inputs if name not in given]
  read, read_feeds = graph_functions.import_part(graph_def, feeds, read_inputs)
  specs = {
    name: graph_functions.placeholder_spec(
      nodes[function_graphs.node_name(name)]
    )
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
      graph_options=tf.compat.v1.GraphOptions(rewrite_options=eager.REWRITING),
    ),
  )
  options = private_api.CallableOptions(
    feed=[each.name for each in placeholders.values()],
    fetch=[outputs[_complete(name)].name for name in fetches],
  )
  # Optimizes the graph here, once. With `Session.make_callable`, each of
  # several concurrent clients would optimize the graph at its first call.
  call = private_api.make_callable(session, options)

  def run(tensors):
    found = eager.call(read, [tensors[index] for index in read_feeds])
    values = dict(zip(read_inputs, found, strict=True))
    values |= {name: tensors[index] for name, index in given.items()}
    # Neither conversion copies, unless memory is not aligned.
    fetched = call(*(values[name].numpy() for name in inputs))
    return [tf.convert_to_tensor(each) for each in fetched]

  return run


def _find_part(
  nodes: Mapping[str, Any], given: Collection[str], fetches: Sequence[str]
) -> tuple[list[str], list[Any]]:
  """The inputs of a graph, and the nodes between inputs and fetches.

  Inputs are the feeds, and the tensors that are read from datasets.
  """
  inputs, part, pending = {}, {}, list(fetches)
  while pending:
    name = pending.pop()
    node = nodes[function_graphs.node_name(name)]
    is_end = _complete(name) in given or _reads_dataset(node)
    if is_end and not name.startswith('^'):
      inputs[_complete(name)] = None
    elif node.name not in part:
      part[node.name] = node
      pending.extend(node.input)
  return list(inputs), list(part.values())


def _reads_dataset(node) -> bool:
  """Whether an operation or a called function reads a dataset into tensors."""
  variant = tf.variant.as_datatype_enum
  if node.op in _CALLS:
    # For example, `folding.fold` reads a dataset with an iterator.
    taken, returned = node.attr['Tin'].list.type, node.attr['Tout'].list.type
    return variant in taken and variant not in returned
  return 'Dataset' in node.op and any(
    each.type != variant
    for each in private_api.op_def_registry.get(node.op).output_arg
  )


def _complete(name: str) -> str:
  """The name of a tensor with its output index."""
  return name if ':' in name else f'{name}:0'
