# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A Ray actor that runs programs, and the handle that detects its loss."""

from collections.abc import Callable, Mapping
import os
import platform
import time
from typing import Any

from absl import logging
import ray
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import cohorts
from tff_semifl.runtime import errors
from tff_semifl.runtime import graph_functions
from tff_semifl.runtime import interpreter
from tff_semifl.runtime.ray import options as ray_options
from tff_semifl.runtime.ray import programs as ray_programs
from tff_semifl.runtime.ray import site as ray_site
from tff_semifl.runtime.ray import values as ray_values

# Ray answers requests of this group while other requests run.
_HEALTH = 'health'
CONCURRENCY_GROUPS = {_HEALTH: 1}
# An actor first imports TensorFlow, which takes long on a busy machine.
_START_SECONDS = 300
_SLOW_START_SECONDS = 60
# Ray queues an actor until its resources are free.
_IN_USE = 'other programs may have its CPUs or GPUs (`ray status` tells)'


def name_software() -> str:
  """The versions that determine results, and must be equal in all processes."""
  return (
    f'Python {platform.python_version()}, TensorFlow {tf.__version__},'
    f' TFF {tff.__version__}'
  )


class Actor:
  """Runs and caches programs, one at a time, on the device of the actor."""

  def __init__(self, threads_per_operation: int | None):
    """Prepares TensorFlow; by default, an operation has a thread per core."""
    if threads_per_operation is not None:
      tf.config.threading.set_intra_op_parallelism_threads(
        threads_per_operation
      )
    # The first visible GPU is the one that Ray assigned to this actor.
    self._pool = cohorts.ClientPool(max_concurrent_clients=1)
    self._scope = interpreter.Scope(cohorts.Cohort(0, self._pool), {})
    self._functions = graph_functions.GraphFunctionCache()
    self._programs = {}
    self._site = ray_site.Site.here()

  @ray.method(concurrency_group=_HEALTH)
  def ping(self) -> None:
    """Returns at once, which shows that the actor is alive."""

  @ray.method(concurrency_group=_HEALTH)
  def describe(self) -> tuple[int, str, ray_site.Description | None]:
    """Process id, versions of packages, and site (None if not at a site)."""
    site = None if self._site is None else self._site.description
    return os.getpid(), name_software(), site

  def run(
    self,
    key: str,
    content: list[ray.ObjectRef],
    shared: list[Any],
    own: list[Any],
  ) -> list[Any]:
    """Runs a program, and returns its encoded outputs.

    `content` holds a reference to the serialized program, fetched if `key` is
    new. `shared` has a list for each input. If all clients share the input, the
    list contains the encoded value; otherwise it is empty. `own` has the
    encoded values of the other inputs, in order.
    """
    evaluate, output_types = self._program(key, content)
    if self._site is not None:
      self._site.check_inputs([shared, own])
    members = iter(own)
    with self._pool.at_server():
      inputs = [
        ray_values.decode(
          each[0] if each else next(members),
          _read_content,
          None if self._site is None else self._site.read,
        )
        for each in shared
      ]
      outputs = evaluate(self._scope)(inputs)
    return ray_values.encode(outputs, output_types)

  def _program(self, key, content):
    if key not in self._programs:
      block = ray_programs.read(_read_content(content[0]))
      if self._site is not None:
        self._site.check_program(block)
      self._programs[key] = (
        interpreter.build_evaluate(block, self._functions),
        block.type_signature.result,
      )
    return self._programs[key]


def _read_content(reference: ray.ObjectRef) -> bytes:
  return ray.get(reference).tobytes()


class LostError(Exception):
  """An actor is lost."""


class RemoteActor:
  """A handle to an actor, with the state of its tasks and requests."""

  def __init__(self, handle: ray.actor.ActorHandle, node: Mapping[str, Any]):
    """Asks an actor to describe itself; the actor may not have started yet."""
    self.handle = handle
    self.node_id = node['NodeID']
    self.site = ray_options.site_of(node)
    self.name = f'{self.site or "actor"} at {node["NodeManagerAddress"]}'
    # Whether the actor joined after the pool was started.
    self.is_late = True
    self.is_ready = False
    # Whether a slow start was logged.
    self.is_slow = False
    # The index, the result reference and the start time of the current task.
    self.task: tuple[int, ray.ObjectRef] | None = None
    self.started = time.monotonic()
    # The pending request about the actor's state; None if answered.
    self.question = handle.describe.remote()
    # The time of the last event: a task, a request or an answer.
    self.turned = self.started
    # Why the actor is lost; None if it is not.
    self.error = None

  def references(self) -> list[ray.ObjectRef]:
    """References to the task's pending result and the pending status reply."""
    result = [] if self.task is None else [self.task[1]]
    return result if self.question is None else [*result, self.question]

  def submit(
    self, number: int, start: Callable[[ray.actor.ActorHandle], ray.ObjectRef]
  ) -> None:
    """Sends the task with index `number`."""
    self.started = self.turned = time.monotonic()
    self.task = number, start(self.handle)

  def get(self, reference: ray.ObjectRef) -> Any:
    """The result of a task, or the exception that the task raised."""
    try:
      return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
      if not isinstance(error.cause, errors.SiteAwayError):
        return error.cause
      self.error = error.cause
      raise LostError from error
    except ray.exceptions.RayError as error:
      # If the actor, its machine, its memory or the result is lost, another
      # actor can repeat the task.
      self.error = first_reason(error)
      raise LostError from error

  def find_loss(
    self, silence_seconds: float, client_seconds: float | None
  ) -> str | None:
    """Why the actor is lost, or None; pings a silent actor."""
    if self.error is not None:
      return str(self.error)
    now = time.monotonic()
    if not self.is_ready:
      if now - self.started > _START_SECONDS:
        return f'it did not start in {_START_SECONDS} seconds; {_IN_USE}'
      if now - self.started > _SLOW_START_SECONDS and not self.is_slow:
        self.is_slow = True
        logging.warning('%s has not started yet; %s', self.name, _IN_USE)
    elif self.task is None:
      return None
    elif client_seconds is not None and now - self.started > client_seconds:
      return f'a client took more than {client_seconds:g} seconds'
    elif now - self.turned > silence_seconds / 2:
      if self.question is not None:
        return f'no answer for {silence_seconds:g} seconds'
      self.question = self.handle.ping.remote()
      self.turned = now
    return None


def first_reason(error: Exception) -> str:
  """The line with the reason, from a long error message of Ray."""
  lines = [line.strip() for line in str(error).strip().splitlines()]
  because = [line for line in lines if 'because' in line]
  return (because or lines or [type(error).__name__])[0]
