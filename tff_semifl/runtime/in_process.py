# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A TFF context that runs computations in this process, also on GPUs.

TFF's own contexts send computations and values to a worker process, and the
worker in TFF's wheel has no GPU support. This context uses the TensorFlow of
this process, without copying values:

  computation --TFF--> building blocks --interpreter--> Python functions
    --graph_functions--> TensorFlow functions, called with eager tensors
"""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import functools
import threading
from typing import Any
import weakref

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import private_api
from tff_semifl.runtime import cohorts
from tff_semifl.runtime import errors
from tff_semifl.runtime import graph_functions
from tff_semifl.runtime import interpreter
from tff_semifl.runtime import limited_functions
from tff_semifl.runtime import stages
from tff_semifl.runtime import values

_types_lock = threading.RLock()


class InProcessContext(tff.framework.SyncContext):
  """Runs computations with the TensorFlow of this process.

  A computation is compiled at its first call, for any number of clients.
  Several threads may use the context at once. Results do not depend on the
  number of threads or devices: aggregation is in the order of the clients.
  """

  def __init__(
    self,
    *,
    default_num_clients: int = 0,
    max_concurrent_clients: int | None = None,
    devices: Sequence[str] | None = None,
    client_threads_per_operation: int | None = None,
    build_evaluate: Callable[
      [
        tff.framework.ComputationBuildingBlock,
        graph_functions.GraphFunctionCache,
      ],
      interpreter.Evaluate,
    ] = stages.build_evaluate,
  ):
    """Initializes the context.

    Args:
      default_num_clients: The number of clients if no argument of a computation
        determines it.
      devices: Names as in `tf.config.list_logical_devices()`, assigned to
        clients round-robin; the server uses the first device. By default all
        GPUs, or the CPU if there is no GPU.
      client_threads_per_operation: Threads per operation of a client; for CPUs
        only. By default TensorFlow's number of threads. Needs
        `TF_OVERRIDE_GLOBAL_THREADPOOL=true` in the environment before
        TensorFlow's first operation.
    """
    self._default_num_clients = default_num_clients
    self._pool = cohorts.ClientPool(max_concurrent_clients, devices)
    create = graph_functions.GraphFunction
    if client_threads_per_operation is not None:
      if any(':CPU:' not in device for device in self._pool.devices):
        raise ValueError(
          '`client_threads_per_operation` is for clients on CPUs.'
        )
      limited_functions.check_environment()
      create = functools.partial(
        limited_functions.LimitedFunction,
        threads_per_operation=client_threads_per_operation,
      )
    self._functions = graph_functions.GraphFunctionCache(create)
    self._build_evaluate = build_evaluate
    # Keyed by id: hashing a computation serializes it, with all its weights.
    self._compiled: dict[int, interpreter.Evaluate] = {}
    self._compile_lock = threading.RLock()

  def close(self) -> None:
    """Ends the threads of the context."""
    self._pool.close()

  def invoke(self, comp: tff.framework.ConcreteComputation, arg: Any) -> Any:
    """Runs a computation; `arg` is None if it has no parameter."""
    # Exits a `tf.function` that the caller may be tracing.
    with tf.init_scope():
      parameter_type = comp.type_signature.parameter
      argument, num_clients = None, None
      if parameter_type is not None:
        num_clients = values.num_clients(arg, parameter_type)
      if num_clients is None:
        num_clients = self._default_num_clients
      cohort = cohorts.Cohort(num_clients, self._pool)
      function = self._compile(comp)(interpreter.Scope(cohort, {}))
      if parameter_type is not None:
        argument = values.embed(arg, parameter_type)
      try:
        with self._pool.at_server():
          result = function(argument)
      except errors.ComputationError as error:
        raise errors.ComputationError(
          f'{_name(comp)}{error}'
        ) from errors.reason(error)
      return values.extract(result, comp.type_signature.result)

  def _compile(self, comp):
    with self._compile_lock:
      evaluate = self._compiled.get(id(comp))
      if evaluate is None:
        evaluate = self._build_evaluate(compile_to_block(comp), self._functions)
        self._compiled[id(comp)] = evaluate
        # Python reuses ids.
        weakref.finalize(comp, self._compiled.pop, id(comp), None)
      return evaluate


def _name(comp: tff.framework.ConcreteComputation) -> str:
  """The computation's name as a prefix of error messages; '' if unknown."""
  block = comp.to_building_block()
  # TFF derives the name of the parameter from the name of the function.
  if not isinstance(block, tff.framework.Lambda) or not block.parameter_name:
    return ''
  return f'In {block.parameter_name.removesuffix("_arg")!r}: '


@contextlib.contextmanager
def _equal_types_once() -> Iterator[None]:
  """In the `with` block, TFF deserializes equal types once, to save time."""
  with _types_lock:
    serialization = private_api.type_serialization
    read = serialization.deserialize_type
    types = {}

    # TFF also calls this function for the parts of a type.
    def read_once(proto):
      key = proto.SerializeToString(deterministic=True)
      if key not in types:
        types[key] = read(proto)
      return types[key]

    serialization.deserialize_type = read_once
    try:
      yield
    finally:
      serialization.deserialize_type = read


@_equal_types_once()
def compile_to_block(
  computation: tff.framework.ConcreteComputation,
) -> tff.framework.ComputationBuildingBlock:
  """Reduces a computation to calls of TensorFlow and a few intrinsics."""
  # TFF would serialize the block here, which takes a second for an ordinary
  # network.
  block, _ = tff.tensorflow.replace_intrinsics_with_bodies(
    computation.to_building_block()
  )
  block = tff.framework.to_call_dominant(block)
  return private_api.disable_grappler(block)[0]
