# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The number of actors on each machine, and the share of each of them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

# A machine that keeps a site's images has one of a resource of this kind, after
# which comes the name of the site.
SITE_RESOURCE = 'tff_semifl_site:'


class Share(NamedTuple):
  """The share of a machine that an actor has.

  Attributes:
    num_cpus: CPU cores.
    num_gpus: GPUs; less than one for a share of one.
    resources: Others, by name.
  """

  num_cpus: float
  num_gpus: float
  resources: Mapping[str, float] | None = None


class Placement(NamedTuple):
  """The rule by which machines get actors.

  Attributes:
    max_actors: The most on all machines together; None for no limit.
    threads_per_operation: CPU threads of an operation, and cores of an actor
      that has no GPU; None for all cores of the machine.
    gpus_per_client: GPUs of an actor where there are GPUs: 0.5 lets two actors
      share one.
  """

  max_actors: int | None = None
  threads_per_operation: int | None = None
  gpus_per_client: float = 1.0

  def place(
    self, machines: Sequence[Mapping[str, Any]], sites: Collection[str] = ()
  ) -> dict[str, tuple[int, Share]]:
    """Places actors: on all GPUs, or on all CPUs if there are none.

    A site gets one, whatever the others get, for one client of one program at a
    time. No other work is for machines of sites.

    Args:
      machines: Those that are there, as `ray.nodes` has them.
      sites: The names of the sites that get an actor.

    Returns:
      For the id of each machine that gets some, how many, and the share of
      each.
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
          # In sevenths of a GPU there are seven, whatever the rounding.
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
      # A machine without CPUs is there to direct the others.
      return 0, Share(0, 0)
    cores = min(self.threads_per_operation or num_cpus, num_cpus)
    return int(num_cpus // cores), Share(cores, 0)


def site_of(machine: Mapping[str, Any]) -> str | None:
  """Returns the name of the site that a machine is of, None for other machines.

  Args:
    machine: As `ray.nodes` has it.
  """
  for name in machine['Resources']:
    if name.startswith(SITE_RESOURCE):
      return name.removeprefix(SITE_RESOURCE)
  return None
