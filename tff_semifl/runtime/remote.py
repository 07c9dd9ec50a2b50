# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A context of TFF that runs computations on workers, on several machines.

computation --shards--> two steps --crew--> workers, one thread each
"""

from collections.abc import Sequence
import contextlib
import functools
import threading
from typing import Any
import weakref

from absl import logging
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import compiler
from tff_semifl.runtime import crew as crew_lib
from tff_semifl.runtime import errors
from tff_semifl.runtime import remote_worker
from tff_semifl.runtime import shards
from tff_semifl.runtime import tls as tls_lib
from tff_semifl.runtime import values
from tff_semifl.runtime import wire


class _Compiled:
  """A computation in the forms that it is called in, made when needed."""

  def __init__(self, computation):
    self._computation = weakref.ref(computation)

  @functools.cached_property
  def whole(self):
    return compiler.compile_computation(self._computation())

  @functools.cached_property
  def mergeable(self):
    try:
      return shards.MergeableComputation(self._computation())
    except ValueError as error:
      logging.warning(
        'A computation runs on one worker, as it cannot be split: %s', error
      )
      return None


class RemoteContext(tff.framework.SyncContext):
  """Runs computations on workers that serve TFF's executor protocol.

  The clients of a call are split among all workers, the lost ones included:
  whoever is left does their part, and the numbers stay the same to the last
  bit, on equal machines. Calls from several threads run one after the other.
  """

  def __init__(
    self,
    workers: Sequence[str],
    *,
    tls: tls_lib.Tls | None = None,
    silence_seconds: float = 60,
    call_seconds: float | None = None,
    default_num_clients: int = 0,
  ):
    """Connects to the workers.

    Args:
      workers: Where they are, as host:port.
      tls: Certificates, if the workers want them.
      silence_seconds: A worker that answers nothing for so long is lost.
      call_seconds: A worker that needs longer than this for one request is
        lost, even if it answers others.
      default_num_clients: The number of clients of a computation none of whose
        arguments tells it.

    Raises:
      ValueError: There is no worker, or one twice.
      errors.WorkerError: No worker answers.
    """
    if not workers or len(set(workers)) < len(workers):
      raise ValueError(
        f'Expected `workers` without repetition, found {list(workers)}.'
      )
    self._default_num_clients = default_num_clients
    self._crew = crew_lib.Crew(
      [
        remote_worker.RemoteWorker(
          address,
          tls=tls,
          silence_seconds=silence_seconds,
          call_seconds=call_seconds,
        )
        for address in workers
      ]
    )
    # By identity: to hash a computation is to serialize it, weights and all.
    self._compiled: dict[int, _Compiled] = {}
    self._lock = threading.Lock()
    try:
      self._crew.muster()
    except BaseException:
      self.close()
      raise
    self._crew.report_lost()

  def close(self) -> None:
    """Ends the connections, and calls that other threads are in."""
    self._crew.close()

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
      errors.ComputationError: The computation failed.
      errors.WorkerError: No worker is left.
    """
    # The caller may be tracing a function; here everything is eager. Values
    # only pass through: no device of this process is needed.
    with self._lock, tf.init_scope(), tf.device('CPU'):
      self._crew.return_lost()
      parameter_type = comp.type_signature.parameter
      num_clients, value = None, None
      if parameter_type is not None:
        num_clients = values.num_clients(arg, parameter_type)
        value = values.embed(arg, parameter_type, _refuse_function)
      result = self._run(comp, value, num_clients)
      return values.extract(result, comp.type_signature.result)

  def _run(self, comp, value, num_clients):
    """Returns the result as the runtime has it."""
    compiled = self._compiled.get(id(comp))
    if compiled is None:
      compiled = self._compiled[id(comp)] = _Compiled(comp)
      # Ids are used again.
      weakref.finalize(comp, self._compiled.pop, id(comp), None)
    num_shards = min(num_clients or 0, self._crew.size)
    if num_shards > 1 and compiled.mergeable is not None:
      return self._run_in_shards(
        comp, compiled.mergeable.steps(num_shards), value, num_clients
      )
    if num_clients is None:
      num_clients = self._default_num_clients
    return self._run_whole(comp, compiled.whole, value, num_clients)

  def _run_whole(self, comp, compiled, value, num_clients):
    """Runs a computation on one worker."""

    def run(worker):
      parameter_type = comp.type_signature.parameter
      argument = None
      if parameter_type is not None:
        argument = wire.encode(value, parameter_type)
      return worker.call(_proto(compiled), argument, num_clients)

    [message] = self._crew.run([run])
    return wire.decode(message, comp.type_signature.result)[0]

  def _run_in_shards(self, comp, steps, value, num_clients):
    """Runs a computation on all workers."""
    parameter_type = comp.type_signature.parameter
    result_type = comp.type_signature.result
    num_shards = steps.num_shards

    def encode(start, stop):
      return wire.encode(
        shards.take(value, parameter_type, start, stop), parameter_type
      )

    def accumulate(start, stop, worker):
      with _blame_clients(start, stop, num_clients):
        part = worker.call(
          _proto(steps.accumulate), encode(start, stop), stop - start
        )
      return wire.at_server(part, steps.part_type)

    def finish(start, stop, worker):
      argument = shards.encode_finish_argument(encode(start, stop), parts)
      with _blame_clients(start, stop, num_clients):
        return worker.call(_proto(steps.finish), argument, stop - start)

    bounds = shards.bounds(num_clients, num_shards)
    parts = self._crew.run([functools.partial(accumulate, *b) for b in bounds])
    # Where nothing is at the clients, the rest can do without any.
    if not steps.needs_clients:
      bounds = [(0, 0)]
    messages = self._crew.run([functools.partial(finish, *b) for b in bounds])
    return shards.put_together(
      [wire.decode(message, result_type)[0] for message in messages],
      result_type,
    )


@contextlib.contextmanager
def _blame_clients(start, stop, num_clients):
  """Names the clients of a failed shard, whose worker counts them from 0."""
  try:
    yield
  except errors.ComputationError as error:
    raise errors.ComputationError(
      f'In the work of clients {start} to {stop - 1} (of {num_clients}): '
      f'{error}'
    ) from error


def _proto(computation):
  return tff.framework.ConcreteComputation.get_proto(computation)


def _refuse_function(function):
  raise TypeError(
    'A computation cannot be an argument of another on remote workers: '
    f'{function.type_signature}.'
  )
