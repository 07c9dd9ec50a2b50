# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runtimes of TFF computations: this process, or a Ray cluster.

with runtime.simulation_context():
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
from typing import Any

import tensorflow_federated as tff

from tff_semifl.runtime.errors import ComputationError
from tff_semifl.runtime.errors import NotPortableError
from tff_semifl.runtime.errors import SiteError
from tff_semifl.runtime.errors import WorkerError
from tff_semifl.runtime.in_process import InProcessContext
from tff_semifl.runtime.limited_functions import OWN_THREADS
from tff_semifl.runtime.ray import options as ray_options
from tff_semifl.runtime.ray.options import RayOptions

__all__ = (
  'OWN_THREADS',
  'AsyncContext',
  'ComputationError',
  'InProcessContext',
  'NotPortableError',
  'RayOptions',
  'SiteError',
  'WorkerError',
  'replace_context',
  'simulation_context',
)

# TFF's worker usually takes half a second to end, but may never end.
_COLLECT_SECONDS = 5


@contextlib.contextmanager
def simulation_context(
  *,
  default_num_clients: int = 0,
  max_concurrent_clients: int | None = None,
  devices: Sequence[str] | None = None,
  client_threads_per_operation: int | None = None,
  ray: RayOptions | None = None,
) -> Iterator[tff.framework.SyncContext]:
  """Sets the runtime of computations called in the `with` block.

  Replaces TFF's default context until the end of the block. `ray` is the Ray
  cluster on which clients run; by default this process runs all clients. See
  `InProcessContext` for the other arguments. With `ray`, do not give `devices`
  or `client_threads_per_operation`.
  """
  if ray is None:
    creator = contextlib.closing(
      InProcessContext(
        default_num_clients=default_num_clients,
        max_concurrent_clients=max_concurrent_clients,
        devices=devices,
        client_threads_per_operation=client_threads_per_operation,
      )
    )
  else:
    if devices or client_threads_per_operation:
      raise ValueError(
        '`devices` and `client_threads_per_operation` are not for `ray`.'
      )
    options = ray._replace(max_actors=max_concurrent_clients)
    ray_options.prepare(is_local=options.address is None)
    # Ray is optional, and its import takes a second.
    from tff_semifl.runtime.ray import context as ray_context

    creator = ray_context.connect(options, default_num_clients)
  former = tff.framework.get_context_stack().current
  with creator as context:
    tff.framework.set_default_context(context)
    try:
      yield context
    finally:
      tff.framework.set_default_context(former)


class AsyncContext(tff.framework.AsyncContext):
  """Makes a synchronous context awaitable.

  An example for TFF's programs:

    tff.framework.set_default_context(
        tff.program.NativeFederatedContext(runtime.AsyncContext(context))
    )
  """

  def __init__(self, context: tff.framework.SyncContext):
    """Wraps a context that allows calls from other threads."""
    self._context = context

  async def invoke(self, comp: Any, arg: Any) -> Any:
    """Runs a computation in a thread; `arg` may be awaitable."""
    if inspect.isawaitable(arg):
      arg = await arg
    return await asyncio.to_thread(self._context.invoke, comp, arg)


class EndedContext(tff.framework.SyncContext):
  """A context that refuses all computations, for the end of a process."""

  def invoke(self, comp: Any, arg: Any) -> Any:
    raise RuntimeError('The interpreter is shutting down.')


def replace_context(context: tff.framework.SyncContext) -> None:
  """Sets the default context; frees the former context and its worker."""
  held = [tff.framework.get_context_stack().current]
  tff.framework.set_default_context(context)

  def collect():
    held.clear()
    gc.collect()

  # TFF sends SIGINT to the worker and waits, but the worker may ignore SIGINT.
  thread = threading.Thread(target=collect, daemon=True)
  thread.start()
  thread.join(_COLLECT_SECONDS)


atexit.register(replace_context, EndedContext())
