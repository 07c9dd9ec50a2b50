# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A context of TFF whose clients work on the machines of a Ray cluster.

computation --ray_stages--> what is done here, and programs
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
  """Runs what clients do on actors, and the rest in this process.

  What clients return is aggregated here, in the order of the clients, with the
  arithmetic of `InProcessContext`: results are the same to the last bit if
  processors and threads of an operation are.

  Attributes:
    runner: What sends programs to actors.
  """

  def __init__(
    self, runner: ray_runner.Runner, *, default_num_clients: int = 0
  ):
    """Initializes the context.

    Args:
      runner: What sends programs to actors.
      default_num_clients: The number of clients of a computation none of whose
        arguments tells it.
    """
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
  """Makes a context with actors of its own, which end with the `with` block.

  Args:
    address: The cluster; see `ray_cluster.connection`.
    placement: Which actors there are to be.
    silence_seconds: One that answers nothing for so long is lost.
    client_seconds: One that needs longer than this for one client is lost; None
      for no limit.
    federation: The sites that have the images of clients, if they do.
    default_num_clients: The number of clients of a computation none of whose
      arguments tells it.

  Yields:
    The context.

  Raises:
    errors.WorkerError: There is no cluster, or no machine in it for an actor.
    errors.SiteError: A site is missing, or has other images.
  """
  with ray_cluster.connection(address):
    crew = ray_crew.Crew(placement, silence_seconds, client_seconds, federation)
    with contextlib.closing(crew):
      if federation is not None:
        crew.await_sites()
      runner = ray_runner.Runner(crew, ray_cluster.max_kept_bytes())
      yield RayContext(runner, default_num_clients=default_num_clients)
