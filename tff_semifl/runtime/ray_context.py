# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A TFF context whose clients run on the machines of a Ray cluster.

computation --ray_stages--> steps of this process, and programs
  --ray_runner--> tasks --ray_crew--> actors, on all machines
"""

from collections.abc import Iterator
import contextlib
import functools

from tff_semifl.runtime import in_process
from tff_semifl.runtime import ray_cluster
from tff_semifl.runtime import ray_crew
from tff_semifl.runtime import ray_placement
from tff_semifl.runtime import ray_runner
from tff_semifl.runtime import ray_stages
from tff_semifl.runtime import sites


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
    crew = ray_crew.Crew(placement, silence_seconds, client_seconds, federation)
    with contextlib.closing(crew):
      if federation is not None:
        crew.await_sites()
      runner = ray_runner.Runner(crew, ray_cluster.max_kept_bytes())
      yield RayContext(runner, default_num_clients=default_num_clients)
