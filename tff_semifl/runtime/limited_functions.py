# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Graph functions that use few CPU threads per operation at clients.

Several concurrent clients with one thread each train faster than one client
with all cores, but the server works alone and needs all cores. In TensorFlow,
the number of threads is a setting of a device, and each session has devices of
its own. Therefore client code runs in a session with few threads.
"""

from collections.abc import Callable, Sequence
import os
import threading

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import private_api
from tff_semifl.runtime import function_graphs
from tff_semifl.runtime import graph_functions

# Gives each device its own threads, instead of one pool for all devices.
OWN_THREADS = 'TF_OVERRIDE_GLOBAL_THREADPOOL'
_LOOPS = ('StatelessWhile', 'While')


def check_environment() -> None:
  """Raises `RuntimeError` unless the environment sets `OWN_THREADS`."""
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
    super().__init__(block)
    self._code = block.proto.tensorflow
    self._threads_per_operation = threads_per_operation
    self._run_lock = threading.Lock()
    self._run = None

  def run_at_client(
    self, argument: graph_functions.Value
  ) -> graph_functions.Value:
    """Runs the graph function like `__call__`, with the threads of a client.

    Code without a loop, or with a dataset as result, uses all threads.
    """
    run = self._get_run()
    if run is None:
      return self(argument)
    return self._pack(run, tf.nest.flatten(argument))

  def _get_run(self):
    with self._run_lock:
      if self._code is not None:
        self._run = _build(
          function_graphs.read(self._code),
          self._feeds,
          tf.nest.flatten(self._result),
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
  """A function that runs a graph in a session; None to use all threads."""
  if all(n.op not in _LOOPS for n in function_graphs.all_nodes(graph_def)):
    return None
  nodes = {node.name: node for node in graph_def.node}
  with tf.Graph().as_default() as graph:
    placeholders, inputs = [], {}
    for name in feeds:
      spec = graph_functions.placeholder_spec(
        nodes[function_graphs.node_name(name)]
      )
      # A session can be fed a dataset's graph, but not a dataset.
      is_dataset = spec.dtype == tf.variant
      fed = tf.compat.v1.placeholder(
        tf.string if is_dataset else spec.dtype, spec.shape
      )
      placeholders.append(fed)
      inputs[name] = (
        tf.raw_ops.DatasetFromGraph(graph_def=fed) if is_dataset else fed
      )
    outputs = tf.graph_util.import_graph_def(
      graph_def, inputs, fetches, name=''
    )
  if any(each.dtype == tf.variant for each in outputs):
    return None
  session = tf.compat.v1.Session(
    graph=graph,
    config=tf.compat.v1.ConfigProto(
      device_count={'GPU': 0},
      intra_op_parallelism_threads=threads_per_operation,
      graph_options=tf.compat.v1.GraphOptions(
        rewrite_options=graph_functions.REWRITING
      ),
    ),
  )
  options = private_api.CallableOptions(
    feed=[each.name for each in placeholders],
    fetch=[each.name for each in outputs],
  )
  # Optimizes the graph here, once. With `Session.make_callable`, each of
  # several concurrent clients would optimize the graph at its first call.
  call = private_api.make_callable(session, options)

  def run(tensors):
    # Neither conversion copies, unless the memory is not aligned.
    return [
      tf.convert_to_tensor(each) for each in call(*map(_to_array, tensors))
    ]

  return run


def _to_array(tensor: tf.Tensor) -> np.ndarray:
  """Converts a tensor to an array, and a dataset to its graph."""
  if tensor.dtype == tf.variant:
    tensor = tf.raw_ops.DatasetToGraphV2(
      input_dataset=tensor, strip_device_assignment=True
    )
  return tensor.numpy()
