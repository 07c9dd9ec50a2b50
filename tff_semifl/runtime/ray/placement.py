# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The number of actors on each machine, and their resources."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

# The prefix of the Ray resource that a site's machine has; the name follows.
SITE_RESOURCE = 'tff_semifl_site:'


class Share(NamedTuple):
  """The resources of an actor; GPUs may be a fraction."""

  num_cpus: float
  num_gpus: float
  resources: Mapping[str, float] | None = None


class Placement(NamedTuple):
  """The rule by which machines get actors, at most `max_actors` in all.

  See `RayOptions` for the other attributes.
  """

  max_actors: int | None = None
  threads_per_operation: int | None = None
  gpus_per_client: float = 1.0

  def place(
    self, machines: Sequence[Mapping[str, Any]], sites: Collection[str] = ()
  ) -> dict[str, tuple[int, Share]]:
    """The number of actors and the resources of each, by machine id.

    Actors are on all GPUs, or on all CPUs if there are none. A site gets one
    actor, which does not count towards `max_actors`. Machines of sites get no
    other work.
    """
    placed = self._place([each for each in machines if site_of(each) is None])
    for machine in machines:
      name = site_of(machine)
      if name in sites:
        gpus = min(self.gpus_per_client, machine['Resources'].get('GPU', 0))
        share = Share(0, gpus, {f'{SITE_RESOURCE}{name}': 1})
        placed[machine['NodeID']] = 1, share
    return placed

  def _place(self, machines):
    resources = {each['NodeID']: each['Resources'] for each in machines}
    if any(each.get('GPU') for each in resources.values()):
      counts = {
        node: (
          # Seven sevenths of a GPU are one, whatever the rounding.
          int(each.get('GPU', 0) / self.gpus_per_client + 1e-6),
          Share(0, self.gpus_per_client),
        )
        for node, each in resources.items()
      }
    else:
      counts = {
        node: self._split_cpus(each.get('CPU', 0))
        for node, each in resources.items()
      }
    left = self.max_actors
    placed = {}
    for node, (count, share) in counts.items():
      if left is not None:
        count = min(count, left)
        left -= count
      if count:
        placed[node] = count, share
    return placed

  def _split_cpus(self, num_cpus: float) -> tuple[int, Share]:
    if num_cpus < 1:
      # Machines without CPUs only coordinate.
      return 0, Share(0, 0)
    cores = min(self.threads_per_operation or num_cpus, num_cpus)
    return int(num_cpus // cores), Share(cores, 0)


def site_of(machine: Mapping[str, Any]) -> str | None:
  """The site of a machine of `ray.nodes`, or None."""
  for name in machine['Resources']:
    if name.startswith(SITE_RESOURCE):
      return name.removeprefix(SITE_RESOURCE)
  return None
