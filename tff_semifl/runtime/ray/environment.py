# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The options of a Ray cluster, and the environment variables that Ray reads.

Ray itself is optional, and its import takes a second.
"""

import importlib.util
import os
import secrets
import sys
from typing import NamedTuple

from tff_semifl.runtime import errors
from tff_semifl.runtime import sites


class RayOptions(NamedTuple):
  """The Ray cluster that clients run on, its resources and timeouts.

  Attributes:
    address: The Ray cluster, as host:port, or 'auto' for the one that this
      machine belongs to. By default, a cluster is started for this process.
    threads_per_operation: CPU threads per TensorFlow operation, and cores per
      client process on machines without GPUs; None for all cores.
    gpus_per_client: GPUs per client process; with 0.5, two processes share one.
    silence_seconds: A process that is silent for this long counts as lost.
    client_seconds: A process that needs longer for one client counts as lost,
      even if it answers; None for no limit.
    max_actors: The most client processes; None for as many as fit.
    federation: The sites that hold the images of clients; None if this program
      holds them.
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

  A local cluster accepts only requests with its token, as any user of this
  machine can reach its ports. Ray reads the token when it is imported.
  """
  check_installed()
  # By default Ray sends usage statistics to its makers.
  os.environ.setdefault('RAY_USAGE_STATS_ENABLED', '0')
  if is_local:
    # By default clients run at the lowest priority.
    os.environ.setdefault('RAY_worker_niceness', '0')
  if is_local and 'RAY_AUTH_MODE' not in os.environ:
    if 'ray' not in sys.modules:
      os.environ['RAY_AUTH_MODE'] = 'token'
      os.environ['RAY_AUTH_TOKEN'] = secrets.token_hex(32)
    elif not sys.modules['ray'].is_initialized():
      raise errors.WorkerError(
        'Ray was imported before its cluster could be given a token, without'
        ' which any user of this machine may use it: do not import Ray before'
        ' the first context, or set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN'
        ' before that (RAY_AUTH_MODE=disabled for no token)'
      )
