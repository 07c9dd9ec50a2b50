# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A TFF context whose clients run on the machines of a Ray cluster.

computation --stages--> steps of this process, and programs
  --runner--> tasks --actor_pool--> actors, on all machines
"""

from collections.abc import Iterator
import contextlib
import functools

from tff_semifl.runtime import in_process
from tff_semifl.runtime import sites
from tff_semifl.runtime.ray import actor_pool
from tff_semifl.runtime.ray import cluster as ray_cluster
from tff_semifl.runtime.ray import placement as ray_placement
from tff_semifl.runtime.ray import runner as ray_runner
from tff_semifl.runtime.ray import stages as ray_stages


class RayContext(in_process.InProcessContext):
  """Runs the work of clients on actors, and the rest in this process.

  Aggregation is that of `InProcessContext`: results are bitwise equal to its
  results if processors and threads per operation are.
  """

  def __init__(
    self, runner: ray_runner.Runner, *, default_num_clients: int = 0
  ):
    """Initializes the context with a runner, which sends programs to actors."""
    super().__init__(
      default_num_clients=default_num_clients,
      max_concurrent_clients=1,
      devices=['/device:CPU:0'],
      build_evaluate=functools.partial(
        ray_stages.build_evaluate, run=runner.run
      ),
    )
    self.runner = runner


@contextlib.contextmanager
def connect(
  address: str | None,
  placement: ray_placement.Placement,
  *,
  silence_seconds: float,
  client_seconds: float | None,
  federation: sites.Federation | None,
  default_num_clients: int,
) -> Iterator[RayContext]:
  """A context with its own actors, which end with the `with` block.

  See `RayOptions` for the arguments.
  """
  with ray_cluster.connection(address):
    pool = actor_pool.ActorPool(
      placement, silence_seconds, client_seconds, federation
    )
    with contextlib.closing(pool):
      if federation is not None:
        pool.await_sites()
      runner = ray_runner.Runner(pool, ray_cluster.max_kept_bytes())
      yield RayContext(runner, default_num_clients=default_num_clients)
