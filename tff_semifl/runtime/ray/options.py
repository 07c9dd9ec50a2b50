# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Options of a Ray cluster, and the placement of processes on machines.

This module does not import Ray, which is optional and takes a second to import.
"""

from collections.abc import Mapping, Sequence
import importlib.util
import os
import secrets
import sys
from typing import Any, NamedTuple

from tff_semifl.runtime import errors
from tff_semifl.runtime import sites

# The prefix of the Ray resource of a site's machine, before the site's name.
SITE_RESOURCE = 'tff_semifl_site:'


class RayOptions(NamedTuple):
  """The Ray cluster on which clients run, its resources and timeouts.

  Attributes:
    address: The Ray cluster, as host:port, or 'auto' for the cluster of this
      machine. By default, a cluster is started for this process.
    threads_per_operation: CPU threads per TensorFlow operation, and cores per
      client process on machines without GPUs; None for all cores.
    gpus_per_client: GPUs per client process; with 0.5, two processes share one.
    silence_seconds: Seconds without an answer until a process counts as lost.
    client_seconds: A process that needs longer for one client counts as lost,
      even if it answers; None for no limit.
    max_actors: The maximum number of client processes, not counting those of
      sites; None for no limit.
    federation: The sites that hold the images of clients; None if this program
      has the images.
  """

  address: str | None = None
  threads_per_operation: int | None = None
  gpus_per_client: float = 1.0
  silence_seconds: float = 60
  client_seconds: float | None = None
  max_actors: int | None = None
  federation: sites.Federation | None = None


def check_installed() -> None:
  """Checks that Ray can be imported."""
  if importlib.util.find_spec('ray') is None:
    raise errors.WorkerError(
      'Ray is not installed; pip install tff-semifl[ray] installs it'
    )


def prepare(*, is_local: bool) -> None:
  """Sets environment variables of Ray that are not set yet.

  A local cluster requires a token with each request, because any user of this
  machine can reach the cluster's ports. Ray reads the token on import.
  """
  check_installed()
  # By default Ray sends usage statistics to its makers.
  os.environ.setdefault('RAY_USAGE_STATS_ENABLED', '0')
  if is_local:
    # By default Ray runs clients at a low priority.
    os.environ.setdefault('RAY_worker_niceness', '0')
  if is_local and 'RAY_AUTH_MODE' not in os.environ:
    if 'ray' not in sys.modules:
      os.environ['RAY_AUTH_MODE'] = 'token'
      os.environ['RAY_AUTH_TOKEN'] = secrets.token_hex(32)
    elif not sys.modules['ray'].is_initialized():
      raise errors.WorkerError(
        'any user of this machine may use a cluster without a token: import Ray'
        ' after the first context, or set RAY_AUTH_MODE before'
      )


def place(
  machines: Sequence[Mapping[str, Any]], options: RayOptions
) -> dict[str, tuple[int, dict[str, Any]]]:
  """The number of actors, and Ray's options of an actor, by machine id.

  Actors use all GPUs, or all CPUs if no machine has a GPU, up to `max_actors`
  actors. In addition, each site of the federation gets one actor. Machines of
  sites get no other actors.
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
      share = {'num_cpus': 0, 'num_gpus': options.gpus_per_client}
      # Rounded up slightly, so that seven sevenths of a GPU are one GPU.
      count = int(each.get('GPU', 0) / options.gpus_per_client + 1e-6)
    else:
      num_cpus = each.get('CPU', 0)
      cores = min(options.threads_per_operation or num_cpus, num_cpus)
      share = {'num_cpus': cores, 'num_gpus': 0}
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
      site = {f'{SITE_RESOURCE}{name}': 1}
      share = {'num_cpus': 0, 'num_gpus': gpus, 'resources': site}
      placed[machine['NodeID']] = 1, share
  return placed


def site_of(machine: Mapping[str, Any]) -> str | None:
  """The site of a machine of `ray.nodes`; None for other machines."""
  for name in machine['Resources']:
    if name.startswith(SITE_RESOURCE):
      return name.removeprefix(SITE_RESOURCE)
  return None
