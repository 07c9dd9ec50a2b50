# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A pool of actors on all machines of a Ray cluster.

Machines may join and leave at any time. Tasks of a lost actor are repeated by
another actor, except tasks of a site, because no other actor has the site's
images. Results come in the order of the tasks.
"""

import collections
from collections.abc import Callable, Iterator, Sequence
import contextlib
import time
from typing import Any, NamedTuple

from absl import logging
import ray
from ray.util import scheduling_strategies

from tff_semifl.runtime import errors
from tff_semifl.runtime import sites
from tff_semifl.runtime.ray import actor as ray_actor
from tff_semifl.runtime.ray import options as ray_options
from tff_semifl.runtime.ray import site as ray_site

# The maximum wait for results between checks of timeouts.
_TICK_SECONDS = 0.5
# The interval at which machines are listed.
_LOOK_SECONDS = 2
_MAX_FAILED_STARTS = 3
# A task during which this many actors were lost is probably the cause.
_MAX_LOSSES = 3
# The maximum number of results per actor that wait for an earlier result.
_WINDOW = 4


class Task(NamedTuple):
  """A task: `start` sends it to an actor, at `site` unless that is None."""

  start: Callable[[ray.actor.ActorHandle], ray.ObjectRef]
  site: str | None = None


class ActorPool:
  """Distributes tasks over actors, and repeats the tasks of lost actors."""

  def __init__(self, options: ray_options.RayOptions):
    self._options = options
    self._actors: list[ray_actor.RemoteActor] = []
    self._failed_starts = collections.Counter()
    self._own_machine = ray.get_runtime_context().get_node_id()
    federation = options.federation
    others = '' if federation is None else ' but those of sites'
    self._why_lost = f'no machine{others} has CPUs or GPUs for an actor'
    # The reason why sites have no actor.
    self._why_away = 'they are not in the cluster'
    self._looked: float = -_LOOK_SECONDS
    self._is_closed = False
    self._actor_class: Any = ray.remote(
      # Ray's type hints lack this argument.
      # pyrefly: ignore[unexpected-keyword]
      concurrency_groups=ray_actor.CONCURRENCY_GROUPS
    )(ray_actor.Actor)
    if federation is not None:
      _check_sites(federation)
    self._renew()
    for actor in self._actors:
      actor.is_late = False

  def await_sites(self) -> None:
    """Waits until the actors at all sites are ready."""
    while any(actor.site and not actor.is_ready for actor in self._actors):
      self._renew()
      self._collect()
      for actor, why in self._find_lost():
        self._lose(actor, why)
        if actor.site is not None:
          raise errors.SiteError(f'{actor.name} cannot take part: {why}')

  def close(self) -> None:
    """Ends the actors and their tasks."""
    self._is_closed = True
    for actor in self._actors:
      _kill(actor.handle)

  def run(self, tasks: Sequence[Task]) -> Iterator[Any]:
    """Yields the results of tasks in order.

    The result of a failed task is the exception. The result is None for a task
    whose site is not in the cluster.
    """
    waiting = collections.defaultdict(collections.deque)
    for number, task in enumerate(tasks):
      waiting[task.site].append(number)
    results = {}
    losses = collections.Counter()
    next_result = 0
    try:
      while next_result < len(tasks):
        self._renew()
        self._submit(tasks, waiting, next_result)
        results |= self._collect()
        for actor, why in self._find_lost():
          self._lose(actor, why)
          if actor.task is None:
            continue
          number, _ = actor.task
          waiting[actor.site].appendleft(number)
          losses[number] += actor.site is None
          if losses[number] >= _MAX_LOSSES:
            raise errors.WorkerError(
              f'one task has lost {_MAX_LOSSES} actors: {self._why_lost}'
            )
        results |= self._drop_out(waiting)
        while next_result in results:
          yield results.pop(next_result)
          next_result += 1
    finally:
      for actor in self._actors:
        if actor.task is not None:
          ray.cancel(actor.task[1])
        actor.task = None

  def _submit(self, tasks, waiting, next_result):
    """Sends a waiting task to each ready actor that has none."""
    ready = [actor for actor in self._actors if actor.is_ready]
    end = next_result + _WINDOW * len(ready)
    for actor in ready:
      numbers = waiting[actor.site]
      if actor.task is None and numbers and numbers[0] < end:
        number = numbers.popleft()
        actor.submit(number, tasks[number].start)

  def _drop_out(self, waiting):
    """Drops tasks of sites without a ready actor; their results are None."""
    there = {actor.site for actor in self._actors if actor.is_ready}
    results = {}
    for site, numbers in waiting.items():
      if site is not None and site not in there and numbers:
        if there <= {None}:
          raise errors.SiteError(f'no site is there: {self._why_away}')
        logging.warning('%s is away; its client drops out of this round', site)
        results |= dict.fromkeys(numbers)
        numbers.clear()
    return results

  def _collect(self):
    """Waits up to `_TICK_SECONDS`; returns new results by task index."""
    references = [
      reference for actor in self._actors for reference in actor.references()
    ]
    ray.wait(references, timeout=_TICK_SECONDS)
    done, _ = ray.wait(references, num_returns=len(references), timeout=0)
    done = set(done)
    results = {}
    for actor in self._actors:
      with contextlib.suppress(ray_actor.LostError):
        if actor.task is not None and actor.task[1] in done:
          number, reference = actor.task
          results[number] = actor.get(reference)
          actor.task = None
        if actor.question in done:
          self._hear(actor, actor.get(actor.question))
          actor.question = None
          actor.turned = time.monotonic()
    return results

  def _hear(self, actor, answer):
    """Handles an actor's answer; the first answer is its description."""
    if actor.is_ready:
      return
    if isinstance(answer, Exception):
      actor.error = answer
      return
    pid, software, site = answer
    here, federation = ray_actor.name_software(), self._options.federation
    if software != here:
      actor.error = f'it has {software}, this program {here}'
    elif federation is not None and actor.site is not None:
      actor.error = ray_site.find_problem(
        actor.site, federation.image_shape, site
      )
    if actor.error is not None:
      self._failed_starts[actor.node_id] = _MAX_FAILED_STARTS
      return
    actor.is_ready = True
    if site is None:
      actor.name = f'actor {pid} at {actor.name.split()[-1]}'
    self._failed_starts.pop(actor.node_id, None)
    if actor.is_late:
      logging.warning('%s has joined', actor.name)

  def _find_lost(self):
    """The lost actors, each with the reason; pings silent actors."""
    silence, limit = self._options.silence_seconds, self._options.client_seconds
    losses = [(each, each.find_loss(silence, limit)) for each in self._actors]
    return [(actor, why) for actor, why in losses if why is not None]

  def _lose(self, actor, why):
    _kill(actor.handle)
    self._actors.remove(actor)
    self._looked = -_LOOK_SECONDS
    if actor.site is None:
      self._why_lost = f'{actor.name}: {why}'
      result = 'its tasks are repeated'
    else:
      self._why_away = f'{actor.name}: {why}'
      result = 'its client drops out until it is back'
    if self._is_closed:
      raise errors.WorkerError('the context was closed')
    if not actor.is_ready:
      self._failed_starts[actor.node_id] += 1
    logging.warning('%s is lost: %s; %s', actor.name, why, result)

  def _renew(self):
    """Starts actors on machines with free resources, every few seconds."""
    now = time.monotonic()
    if now - self._looked < _LOOK_SECONDS:
      return
    self._looked = now
    machines = {each['NodeID']: each for each in _machines()}
    if self._own_machine not in machines:
      # Without this check, Ray would end this process without a message.
      raise errors.WorkerError('the machine of this program left the cluster')
    for actor in self._actors:
      if actor.node_id not in machines and actor.task is None:
        actor.error = 'its machine left the cluster'
    counts = collections.Counter(each.node_id for each in self._actors)
    placed = ray_options.place(
      # Machines with actors come first, so that `max_actors` keeps their
      # actors.
      sorted(
        (
          machine
          for node, machine in machines.items()
          if self._failed_starts[node] < _MAX_FAILED_STARTS
        ),
        key=lambda machine: -counts[machine['NodeID']],
      ),
      self._options,
    )
    for node, (count, share) in placed.items():
      for _ in range(count - counts[node]):
        self._actors.append(self._start(machines[node], share))
    if all(actor.site is not None for actor in self._actors):
      raise errors.WorkerError(f'no actor is left: {self._why_lost}')

  def _start(self, machine, share):
    actor = self._actor_class.options(
      **share,
      scheduling_strategy=scheduling_strategies.NodeAffinitySchedulingStrategy(
        machine['NodeID'], soft=False
      ),
    ).remote(self._options.threads_per_operation)
    return ray_actor.RemoteActor(actor, machine)


def _check_sites(federation: sites.Federation) -> None:
  names = map(ray_options.site_of, _machines())
  found = {name for name in names if name is not None}
  missing = [name for name in federation.names if name not in found]
  if not missing:
    return
  line = (
    f'{", ".join(missing)} {"is" if len(missing) == 1 else "are"} not in the'
    ' cluster'
  )
  if federation.is_new or not found.intersection(federation.names):
    raise errors.SiteError(
      f'{line}, whose sites are: {", ".join(sorted(found)) or "none"}'
    )
  logging.warning('%s; clients drop out of rounds until then', line)


def _machines() -> list[dict[str, Any]]:
  return [each for each in ray.nodes() if each['Alive']]


def _kill(actor):
  with contextlib.suppress(ray.exceptions.RayError, ValueError):
    ray.kill(actor)
