# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A context of TFF that runs computations in this process.

TFF's own contexts send every computation and every value to a worker process,
and the worker in TFF's wheel has no GPU support. This one uses the TensorFlow
of this process and its devices, and copies nothing:

  computation --compiler--> building blocks --interpreter--> Python functions
    --leaves--> TensorFlow functions, called with eager tensors
"""

from collections.abc import Callable, Sequence
import functools
import threading
from typing import Any
import weakref

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import client_pool
from tff_semifl.runtime import cohorts
from tff_semifl.runtime import compiler
from tff_semifl.runtime import errors
from tff_semifl.runtime import interpreter
from tff_semifl.runtime import leaves
from tff_semifl.runtime import limited_leaves
from tff_semifl.runtime import values


class InProcessContext(tff.framework.SyncContext):
  """Runs computations with the TensorFlow of this process.

  A computation is compiled at its first call; later calls, with whatever
  number of clients, find everything ready for as long as the computation
  lives. The context may be used by several threads at once.

  Results do not depend on the number of threads or devices: they come in the
  order of the clients and are aggregated in that order.
  """

  def __init__(
    self,
    *,
    default_num_clients: int = 0,
    max_concurrent_clients: int | None = None,
    devices: Sequence[str] | None = None,
    client_threads_per_operation: int | None = None,
    build_evaluate: Callable[
      [tff.framework.ComputationBuildingBlock, leaves.LeafCache],
      interpreter.Evaluate,
    ] = interpreter.build_evaluate,
  ):
    """Initializes the context.

    Args:
      default_num_clients: The number of clients of a computation none of whose
        arguments tells it.
      max_concurrent_clients: The number of clients that may work at the same
        time, in as many threads. By default one for each device. One client
        uses all cores where TensorFlow's operations do.
      devices: What clients work on in turn, the server on the first one: names
        as in `tf.config.list_logical_devices()`. By default all GPUs, or the
        CPU if there is none.
      client_threads_per_operation: CPU threads that share the work of one
        operation in the turns of clients on a CPU. By default those of
        TensorFlow. The process needs `OWN_THREADS=true` in its environment
        before TensorFlow's first operation.
      build_evaluate: Builds the function that evaluates a compiled computation;
        one that lets others do some of it takes the place of the default.

    Raises:
      ValueError: A number is out of range, there is no such device, or threads
        are for clients on others than CPUs.
      RuntimeError: Threads of clients, and no `OWN_THREADS`.
    """
    if default_num_clients < 0:
      raise ValueError(
        f'Expected `default_num_clients` >= 0, found {default_num_clients}.'
      )
    self._default_num_clients = default_num_clients
    self._pool = client_pool.ClientPool(max_concurrent_clients, devices)
    create = leaves.Leaf
    if client_threads_per_operation is not None:
      if any(':CPU:' not in device for device in self._pool.devices):
        raise ValueError(
          '`client_threads_per_operation` is for clients on CPUs.'
        )
      limited_leaves.check_environment()
      create = leaves.with_loops(
        functools.partial(
          limited_leaves.LimitedLeaf,
          threads_per_operation=client_threads_per_operation,
        )
      )
    self._leaves = leaves.LeafCache(create)
    self._build_evaluate = build_evaluate
    # By identity: to hash a computation is to serialize it, weights and all.
    self._compiled: dict[int, interpreter.Evaluate] = {}
    self._compile_lock = threading.RLock()

  def close(self) -> None:
    """Ends the threads of the context."""
    self._pool.close()

  def invoke(self, comp: tff.framework.ConcreteComputation, arg: Any) -> Any:
    """Runs a computation.

    Args:
      comp: The computation.
      arg: Its argument; `None` if it has no parameter.

    Returns:
      The result as TFF's own contexts return it: NumPy arrays in the Python
      containers of the computation's type.

    Raises:
      TypeError: The argument is not of the type of the parameter.
      ValueError: Parts of the argument speak of different numbers of clients.
      errors.ComputationError: TensorFlow reported an error. The message says in
        which computation, and for which client.
      RuntimeError: The call is in a graph of TensorFlow 1.
    """
    # The caller may be tracing a function; here everything is eager.
    with tf.init_scope():
      if not tf.executing_eagerly():
        raise RuntimeError(
          'Please call computations outside of `tf.Graph().as_default()`.'
        )
      parameter_type = comp.type_signature.parameter
      cohort = cohorts.Cohort(
        self._num_clients(arg, parameter_type), self._pool
      )
      function = self._embed_function(comp, cohort)
      argument = None
      if parameter_type is not None:
        argument = values.embed(
          arg,
          parameter_type,
          lambda inner: self._embed_function(inner, cohort),
        )
      try:
        with self._pool.at_server():
          result = function(argument)
      except errors.ComputationError as error:
        raise errors.ComputationError(
          f'{_name(comp)}{error}'
        ) from errors.reason(error)
      return values.extract(result, comp.type_signature.result)

  def _num_clients(self, arg, parameter_type):
    if parameter_type is None:
      return self._default_num_clients
    count = values.num_clients(arg, parameter_type)
    return self._default_num_clients if count is None else count

  def _embed_function(self, comp, cohort):
    """Returns the computation as a function between runtime values."""
    with self._compile_lock:
      evaluate = self._compiled.get(id(comp))
      if evaluate is None:
        evaluate = self._build_evaluate(
          compiler.compile_to_block(comp), self._leaves
        )
        self._compiled[id(comp)] = evaluate
        # Ids are used again.
        weakref.finalize(comp, self._compiled.pop, id(comp), None)
    return evaluate(interpreter.Scope(cohort, {}))


def _name(comp: tff.framework.ConcreteComputation) -> str:
  """Returns the name of the function that was decorated, if it is known."""
  block = comp.to_building_block()
  # TFF names the parameter after the function.
  if not isinstance(block, tff.framework.Lambda) or not block.parameter_name:
    return ''
  return f'In {block.parameter_name.removesuffix("_arg")!r}: '
