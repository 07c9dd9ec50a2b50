# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A TFF context whose clients run on the machines of a Ray cluster.

computation --stages--> steps of this process, and programs
  --Runner--> tasks --actor_pool--> actors, on all machines

Ray's object store transfers each object to each machine once. A cache keeps
programs and the contents of datasets in the object store for later rounds.
Values that all clients share stay until the program has run for all clients.
"""

import collections
from collections.abc import Generator, Iterator, Sequence
import contextlib
import functools
import hashlib
import threading
from typing import Any

import numpy as np
import ray
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import errors
from tff_semifl.runtime import in_process
from tff_semifl.runtime import interpreter
from tff_semifl.runtime import sites
from tff_semifl.runtime import values
from tff_semifl.runtime.ray import actor as ray_actor
from tff_semifl.runtime.ray import actor_pool
from tff_semifl.runtime.ray import cluster as ray_cluster
from tff_semifl.runtime.ray import options as ray_options
from tff_semifl.runtime.ray import programs as ray_programs
from tff_semifl.runtime.ray import values as ray_values


class Runner:
  """Runs programs for clients on the actors of a pool."""

  def __init__(self, pool: actor_pool.ActorPool, max_bytes: int):
    self.pool = pool
    self._contents = _Contents(max_bytes)
    self._lock = threading.Lock()
    # The bytes put into the object store or sent to actors, by kind.
    self.sent = collections.Counter()

  def run(
    self,
    program: ray_programs.Program,
    scope: interpreter.Scope,
    at_server: bool = False,
  ) -> Generator[list[Any] | None, None, None]:
    """Runs a program for each client or the server, and yields its outputs."""
    cohort = None if at_server else scope.cohort
    clients = [0] if cohort is None else cohort.present()
    if clients:
      inputs = [evaluate(scope) for evaluate in program.inputs]
      with self._lock:
        try:
          yield from self._run(program, inputs, cohort, clients)
        except ray.exceptions.RayError as error:
          # For example, the object store is full.
          reason = ray_actor.first_reason(error)
          raise errors.WorkerError(f'Ray has failed: {reason}') from error

  def _run(self, program, inputs, cohort, clients):
    # In a list, because Ray would send a bare reference's content with each
    # task.
    content = [self._put('programs', program.content)]
    typed = list(zip(inputs, program.input_types, strict=True))
    common = ray.put(
      [
        [self._encode('in common', value.member, value_type)]
        if isinstance(value, values.AllEqual)
        else []
        for value, value_type in typed
      ]
    )

    def submit(client, actor):
      own = [
        self._encode('of each client', value[client], value_type)
        for value, value_type in typed
        if not isinstance(value, values.AllEqual)
      ]
      return actor.run.remote(program.key, content, common, own)

    tasks = [
      actor_pool.Task(functools.partial(submit, client), _site(inputs, client))
      for client in clients
    ]
    for client, result in zip(clients, self.pool.run(tasks), strict=True):
      if result is None:
        yield None
        continue
      if isinstance(result, errors.SiteError):
        raise result
      if isinstance(result, Exception):
        message = str(result)
        if cohort is not None:
          message = cohort.name_client(client, message)
        raise errors.ComputationError(message) from errors.reason(result)
      self.sent['results'] += ray_values.count_bytes(result)
      yield ray_values.decode(result)

  def _encode(self, kind: str, value: Any, value_type: tff.Type) -> Any:
    message = ray_values.encode(
      value, value_type, functools.partial(self._put, 'data')
    )
    self.sent[kind] += ray_values.count_bytes(message)
    return message

  def _put(self, kind: str, content: bytes) -> ray.ObjectRef:
    reference, is_new = self._contents.put(content)
    if is_new:
      self.sent[kind] += len(content)
    return reference


def _site(inputs: Sequence[Any], client: int) -> str | None:
  """The site that holds a client's data; None if this program has the data."""
  own = [
    value[client] for value in inputs if not isinstance(value, values.AllEqual)
  ]
  handles = [
    each for each in tf.nest.flatten(own) if isinstance(each, sites.SiteDataset)
  ]
  return handles[0].site if handles else None


class _Contents:
  """A least-recently-used cache of object-store contents."""

  def __init__(self, max_bytes: int):
    self._max_bytes = max_bytes
    self._num_bytes = 0
    self._references = collections.OrderedDict()

  def put(self, content: bytes) -> tuple[ray.ObjectRef, bool]:
    """A reference to stored bytes, and whether they are new in the store."""
    key = hashlib.sha256(content).digest()
    found = self._references.get(key)
    if found is not None:
      self._references.move_to_end(key)
      return found[0], False
    self._num_bytes += len(content)
    while self._references and self._num_bytes > self._max_bytes:
      _, (_, size) = self._references.popitem(last=False)
      self._num_bytes -= size
    reference = ray.put(np.frombuffer(content, np.uint8))
    self._references[key] = reference, len(content)
    return reference, True


class RayContext(in_process.InProcessContext):
  """Runs clients on actors, and everything else in this process.

  Results are bitwise equal to the results of `InProcessContext` if processors
  and threads per operation are equal, because both contexts aggregate clients
  in order.
  """

  def __init__(self, runner: Runner, *, default_num_clients: int = 0):
    super().__init__(
      default_num_clients=default_num_clients,
      max_concurrent_clients=1,
      devices=['/device:CPU:0'],
      build_evaluate=functools.partial(
        ray_programs.build_evaluate, run=runner.run
      ),
    )
    self.runner = runner


@contextlib.contextmanager
def connect(
  options: ray_options.RayOptions, default_num_clients: int
) -> Iterator[RayContext]:
  """A context with its own actors, which end with the `with` block."""
  with ray_cluster.connection(options.address):
    pool = actor_pool.ActorPool(options)
    with contextlib.closing(pool):
      if options.federation is not None:
        pool.await_sites()
      runner = Runner(pool, ray_cluster.max_kept_bytes())
      yield RayContext(runner, default_num_clients=default_num_clients)
