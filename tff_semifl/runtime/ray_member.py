# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""An actor of a crew, and the signs that it is lost."""

import collections
from collections.abc import Mapping
import time
from typing import Any

from absl import logging
import ray

from tff_semifl.runtime import errors
from tff_semifl.runtime import ray_placement

# To start is to import TensorFlow, on a machine that may be busy.
_START_SECONDS = 300
_SLOW_START_SECONDS = 60
# Ray lets an actor wait for its share of a machine.
_IN_USE = 'other programs may have its CPUs or GPUs (`ray status` tells)'


class LostError(Exception):
  """Raised where an actor turns out to be lost."""


class Member:
  """An actor and what is known of it."""

  def __init__(self, actor: ray.actor.ActorHandle, node: Mapping[str, Any]):
    """Initializes what there is to know.

    Args:
      actor: The actor, which may not have started yet.
      node: What `ray.nodes` says of its machine.
    """
    self.actor = actor
    self.node_id = node['NodeID']
    self.site = ray_placement.site_of(node)
    self.name = f'{self.site or "actor"} at {node["NodeManagerAddress"]}'
    # Whether others were there before.
    self.is_late = True
    self.is_ready = False
    # Whether it was said that it takes long to start.
    self.is_slow = False
    # Number and result of each task that it has, in the order of its work.
    self.tasks = collections.deque()
    # What it was asked last about itself, and when.
    self.question = actor.describe.remote()
    self.asked = time.monotonic()
    # When it gave its last sign of life, and when it turned to its task.
    self.heard = self.asked
    self.turned = self.asked
    # Why it is lost, if it is.
    self.error = None

  def references(self) -> list[ray.ObjectRef]:
    """Returns what it is waited for."""
    found = [reference for _, reference in self.tasks]
    return found if self.question is None else [*found, self.question]

  def get(self, reference: ray.ObjectRef) -> Any:
    """Returns a result, or the exception that it is.

    Raises:
      LostError: There is none and will be none.
    """
    try:
      return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
      if not isinstance(error.cause, errors.SiteAwayError):
        return error.cause
      self.error = error.cause
      raise LostError from error
    except ray.exceptions.RayError as error:
      # Whatever else happened, to the actor, its machine, its memory or the
      # result: another can do the work.
      self.error = first_reason(error)
      raise LostError from error

  def find_loss(
    self, silence_seconds: float, client_seconds: float | None
  ) -> str | None:
    """Returns why it is lost, None if it is not; asks it if it is silent.

    Args:
      silence_seconds: It is if it answers nothing for so long.
      client_seconds: It is if it needs longer for one task; None for no limit.
    """
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
        self.question = self.actor.ping.remote()
        self.asked = now
    elif now - self.asked > silence_seconds / 2:
      return f'no answer for {silence_seconds:g} seconds'
    return None


def first_reason(error: Exception) -> str:
  """Returns the line of Ray's message, of many lines, that has the reason.

  Args:
    error: An error of Ray.
  """
  lines = [line.strip() for line in str(error).strip().splitlines()]
  because = [line for line in lines if 'because' in line]
  return (because or lines or [type(error).__name__])[0]
