# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Handles to actors, with detection of lost actors."""

import collections
from collections.abc import Mapping
import time
from typing import Any

from absl import logging
import ray

from tff_semifl.runtime import errors
from tff_semifl.runtime.ray import options as ray_options

# An actor first imports TensorFlow, on a machine that may be busy.
_START_SECONDS = 300
_SLOW_START_SECONDS = 60
# Ray queues an actor until its resources are free.
_IN_USE = 'other programs may have its CPUs or GPUs (`ray status` tells)'


class LostError(Exception):
  """Raised if an actor is lost."""


class RemoteActor:
  """A handle to an actor, with the state of its tasks and requests."""

  def __init__(self, handle: ray.actor.ActorHandle, node: Mapping[str, Any]):
    """Asks an actor, which may not have started yet, to describe itself."""
    self.handle = handle
    self.node_id = node['NodeID']
    self.site = ray_options.site_of(node)
    self.name = f'{self.site or "actor"} at {node["NodeManagerAddress"]}'
    # Whether the actor joined after the pool was started.
    self.is_late = True
    self.is_ready = False
    # Whether a slow start was logged.
    self.is_slow = False
    # The index and the result reference of each task, in order.
    self.tasks = collections.deque()
    # The pending request about the actor's state (None if it was answered), and
    # the time of the last request.
    self.question = handle.describe.remote()
    self.asked = time.monotonic()
    # The times of the last answer and of the start of the current task.
    self.heard = self.asked
    self.turned = self.asked
    # The reason if the actor is lost.
    self.error = None

  def references(self) -> list[ray.ObjectRef]:
    """References to the actor's pending results and pending answer."""
    found = [reference for _, reference in self.tasks]
    return found if self.question is None else [*found, self.question]

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
      # The actor, its machine, its memory or the result was lost: another actor
      # can repeat the task.
      self.error = first_reason(error)
      raise LostError from error

  def find_loss(
    self, silence_seconds: float, client_seconds: float | None
  ) -> str | None:
    """Why the actor is lost; None if it is not. Pings a silent actor."""
    if self.error is not None:
      return str(self.error)
    now = time.monotonic()
    if not self.is_ready:
      if now - self.asked > _START_SECONDS:
        return f'it did not start in {_START_SECONDS} seconds; {_IN_USE}'
      if now - self.asked > _SLOW_START_SECONDS and not self.is_slow:
        self.is_slow = True
        logging.warning('%s has not started yet; %s', self.name, _IN_USE)
    elif not self.tasks:
      return None
    elif client_seconds is not None and now - self.turned > client_seconds:
      return f'a client took more than {client_seconds:g} seconds'
    elif self.question is None:
      if now - self.heard > silence_seconds / 2:
        self.question = self.handle.ping.remote()
        self.asked = now
    elif now - self.asked > silence_seconds / 2:
      return f'no answer for {silence_seconds:g} seconds'
    return None


def first_reason(error: Exception) -> str:
  """The line with the reason in a long error message of Ray."""
  lines = [line.strip() for line in str(error).strip().splitlines()]
  because = [line for line in lines if 'because' in line]
  return (because or lines or [type(error).__name__])[0]
