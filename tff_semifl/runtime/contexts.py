# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Chooses what runs the computations of TFF.

with runtime.simulation_context('in_process'):
  state = process.initialize()
  output = process.next(state, client_datasets)
"""

import asyncio
import atexit
from collections.abc import Iterator, Sequence
import contextlib
import gc
import inspect
import threading
from typing import Any, Literal, NamedTuple, get_args

import tensorflow_federated as tff

from tff_semifl.runtime import in_process
from tff_semifl.runtime import native
from tff_semifl.runtime import ray_environment
from tff_semifl.runtime import ray_placement
from tff_semifl.runtime import sites
from tff_semifl.runtime import worker as worker_lib

Kind = Literal['in_process', 'native', 'ray']

# TFF's own worker ends in half a second, if it does.
_COLLECT_SECONDS = 5


class RayOptions(NamedTuple):
  """The machines that clients work on, and how long to wait for them.

  Attributes:
    address: The Ray cluster, as host:port, or 'auto' for the one that this
      machine belongs to. By default one of this process alone is started.
    threads_per_operation: CPU threads of an operation, and cores of a client's
      process where there are no GPUs; None for all cores of the machine.
    gpus_per_client: GPUs of a client's process, where there are any: with 0.5
      two of them share one.
    silence_seconds: A process that answers nothing for so long is lost.
    client_seconds: One that needs longer than this for one client is lost, even
      if it answers; None for no limit.
    federation: The sites that have the images of clients; None if this program
      has them.
  """

  address: str | None = None
  threads_per_operation: int | None = None
  gpus_per_client: float = 1.0
  silence_seconds: float = 60
  client_seconds: float | None = None
  federation: sites.Federation | None = None


@contextlib.contextmanager
def simulation_context(
  kind: Kind = 'in_process',
  *,
  default_num_clients: int = 0,
  max_concurrent_clients: int | None = None,
  devices: Sequence[str] | None = None,
  client_threads_per_operation: int | None = None,
  ray: RayOptions | None = None,
) -> Iterator[tff.framework.SyncContext]:
  """Runs the computations called in the `with` block.

  Becomes TFF's default context of this thread, and gives way to the former
  one at the end of the block, however that ends.

  Args:
    kind: `in_process` runs computations with the TensorFlow of this process,
      on its devices; `native` in a worker process of TFF, on the CPU; `ray` on
      the machines of a Ray cluster, or in processes of this machine.
    default_num_clients: The number of clients of a computation none of whose
      arguments tells it.
    max_concurrent_clients: How many clients may work at the same time. By
      default one for each device in process and with Ray, no limit in the
      worker.
    devices: For `in_process`, see `InProcessContext`.
    client_threads_per_operation: Likewise.
    ray: For `ray`; by default those of `RayOptions`.

  Yields:
    The context.

  Raises:
    ValueError: There is no such kind, or an argument is not for it.
    errors.WorkerError: The worker did not start, the cluster is not there, or
      Ray is not installed.
    errors.SiteError: A site is missing, or has other images.
  """
  kinds = get_args(Kind)
  if kind not in kinds:
    raise ValueError(
      f'Expected `kind` to be one of {sorted(kinds)}, found {kind!r}.'
    )
  if kind != 'ray' and ray is not None:
    raise ValueError('`ray` is for the kind `ray`.')
  if kind != 'in_process' and devices is not None:
    raise ValueError('`devices` is for the kind `in_process`.')
  if kind != 'in_process' and client_threads_per_operation is not None:
    raise ValueError(
      '`client_threads_per_operation` is for the kind `in_process`.'
    )
  if kind == 'in_process':
    creator = contextlib.closing(
      in_process.InProcessContext(
        default_num_clients=default_num_clients,
        max_concurrent_clients=max_concurrent_clients,
        devices=devices,
        client_threads_per_operation=client_threads_per_operation,
      )
    )
  elif kind == 'native':
    creator = _native(default_num_clients, max_concurrent_clients)
  else:
    creator = _ray(
      ray or RayOptions(), default_num_clients, max_concurrent_clients
    )
  former = tff.framework.get_context_stack().current
  with creator as context:
    tff.framework.set_default_context(context)
    try:
      yield context
    finally:
      tff.framework.set_default_context(former)


@contextlib.contextmanager
def _native(default_num_clients, max_concurrent_clients):
  worker = worker_lib.Worker(
    max_concurrent_computation_calls=max_concurrent_clients or -1
  )
  with contextlib.closing(worker):
    yield native.NativeContext(worker, default_num_clients=default_num_clients)


def _ray(options, default_num_clients, max_concurrent_clients):
  ray_environment.prepare(is_local=options.address is None)
  # Ray is not always installed, and takes a second to import.
  from tff_semifl.runtime import ray_context

  return ray_context.connect(
    options.address,
    ray_placement.Placement(
      max_actors=max_concurrent_clients,
      threads_per_operation=options.threads_per_operation,
      gpus_per_client=options.gpus_per_client,
    ),
    silence_seconds=options.silence_seconds,
    client_seconds=options.client_seconds,
    federation=options.federation,
    default_num_clients=default_num_clients,
  )


def ray_connection(
  address: str | None,
) -> contextlib.AbstractContextManager[None]:
  """Returns a context in which this process belongs to a Ray cluster.

  Args:
    address: The cluster, see `RayOptions`.

  Raises:
    errors.WorkerError: Ray is not installed, or on entry: the cluster is not
      there.
  """
  ray_environment.prepare(is_local=address is None)
  from tff_semifl.runtime import ray_cluster

  return ray_cluster.connection(address)


class AsyncContext(tff.framework.AsyncContext):
  """Offers a synchronous context to code that awaits results.

  For the programs of TFF:

    tff.framework.set_default_context(
        tff.program.NativeFederatedContext(runtime.AsyncContext(context))
    )
  """

  def __init__(self, context: tff.framework.SyncContext):
    """Initializes the context.

    Args:
      context: What runs the computations. Calls come from other threads.
    """
    self._context = context

  async def invoke(self, comp: Any, arg: Any) -> Any:
    """Runs a computation, in a thread, so that others may be awaited.

    Args:
      comp: The computation.
      arg: Its argument, or an awaitable for it.

    Returns:
      The result.
    """
    if inspect.isawaitable(arg):
      arg = await arg
    return await asyncio.to_thread(self._context.invoke, comp, arg)


class _EndedContext(tff.framework.SyncContext):
  """The last context of a process, in which nothing is run any more."""

  def invoke(self, comp: Any, arg: Any) -> Any:
    raise RuntimeError('The interpreter is ending; nothing is run any more.')


@atexit.register
def _discard_default_context() -> None:
  """Drops the default context while the interpreter is whole.

  The context that TFF sets at its import stops its worker, if it has one, when
  it is collected. If that is left to the end of the interpreter it fails with
  a traceback, and the worker stays.
  """
  held = [tff.framework.get_context_stack().current]
  # Not one of ours, which would look for GPUs only now.
  tff.framework.set_default_context(_EndedContext())

  def collect():
    held.clear()
    gc.collect()

  # In a thread of its own, because it may never return: the worker is asked to
  # end by SIGINT and awaited, but ignores the signal if this process did when
  # the worker was started. Better an orphan than no end.
  thread = threading.Thread(target=collect, daemon=True)
  thread.start()
  thread.join(_COLLECT_SECONDS)
