# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The number of actors on each machine, and their resources."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tff_semifl.runtime.ray import environment

# The prefix of the Ray resource that a site's machine has; the name follows.
SITE_RESOURCE = 'tff_semifl_site:'


class Share(NamedTuple):
  """The resources of an actor; GPUs may be a fraction."""

  num_cpus: float
  num_gpus: float
  resources: Mapping[str, float] | None = None


def place(
  machines: Sequence[Mapping[str, Any]], options: environment.RayOptions
) -> dict[str, tuple[int, Share]]:
  """The number of actors and the resources of each, by machine id.

  Actors are on all GPUs, or on all CPUs if there are none, at most `max_actors`
  in all. A site of the federation gets one actor more. Machines of sites get no
  other work.
  """
  resources = {
    each['NodeID']: each['Resources']
    for each in machines
    if site_of(each) is None
  }
  has_gpus = any(each.get('GPU') for each in resources.values())
  left = options.max_actors
  placed = {}
  for node, each in resources.items():
    if has_gpus:
      share = Share(0, options.gpus_per_client)
      # Seven sevenths of a GPU are one, whatever the rounding.
      count = int(each.get('GPU', 0) / options.gpus_per_client + 1e-6)
    else:
      num_cpus = each.get('CPU', 0)
      cores = min(options.threads_per_operation or num_cpus, num_cpus)
      share = Share(cores, 0)
      # Machines without CPUs only coordinate.
      count = int(num_cpus // cores) if num_cpus >= 1 else 0
    if left is not None:
      count = min(count, left)
      left -= count
    if count:
      placed[node] = count, share
  sites = options.federation.names if options.federation else ()
  for machine in machines:
    name = site_of(machine)
    if name in sites:
      gpus = min(options.gpus_per_client, machine['Resources'].get('GPU', 0))
      share = Share(0, gpus, {f'{SITE_RESOURCE}{name}': 1})
      placed[machine['NodeID']] = 1, share
  return placed


def site_of(machine: Mapping[str, Any]) -> str | None:
  """The site of a machine of `ray.nodes`, or None."""
  for name in machine['Resources']:
    if name.startswith(SITE_RESOURCE):
      return name.removeprefix(SITE_RESOURCE)
  return None
