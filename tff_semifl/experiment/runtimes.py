# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Settings of the runtime."""

import abc
from collections.abc import Callable, Iterator
import contextlib
import dataclasses
import math
from typing import ClassVar, Self

from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiment import threads as threads_lib
from tff_semifl.runtime import sites
from tff_semifl.runtime.ray import options as ray_options

_RESUMES = 'the same command goes on from the last complete round'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Runtime(settings.Settings, abc.ABC):
  """Base class of runtimes.

  Attributes:
    threads: Limits on threads and on concurrent clients.
    by_index: Whether the worker reads images from a shared file, by index.
    has_xla: Whether the runtime compiles with XLA.
  """

  by_index: ClassVar[bool] = False
  has_xla: ClassVar[bool] = True

  threads: threads_lib.Threads = threads_lib.Threads()

  @property
  def has_sites(self) -> bool:
    """Whether the runtime can reach sites that hold clients' images."""
    return False

  @abc.abstractmethod
  def context(
    self, federation: sites.Federation | None = None
  ) -> contextlib.AbstractContextManager[None]:
    """Makes this the runtime of the `with` block.

    `federation` has the sites that hold clients' images; None without sites.
    """

  def check(self) -> None:
    """Checks the settings."""

  def limit_threads(
    self, count_pixels: Callable[[], threads_lib.BatchPixels]
  ) -> Self:
    """Sets the threads per operation, before TensorFlow initializes.

    `count_pixels` is called only if no number of threads is chosen.
    """
    return dataclasses.replace(self, threads=self.threads.limit(count_pixels))


@dataclasses.dataclass(frozen=True, kw_only=True)
class InProcess(Runtime):
  """TensorFlow in this process."""

  threads: threads_lib.PlacedThreads = threads_lib.PlacedThreads()

  def context(
    self, federation: sites.Federation | None = None
  ) -> contextlib.AbstractContextManager[None]:
    del federation  # It has none.
    return runtime.simulation_context(
      'in_process',
      max_concurrent_clients=self.threads.num_clients,
      client_threads_per_operation=self.threads.client_threads_per_operation,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Native(Runtime):
  """A TFF worker process on the CPU, to check the other runtimes against."""

  by_index = True
  has_xla = False

  def context(
    self, federation: sites.Federation | None = None
  ) -> contextlib.AbstractContextManager[None]:
    del federation  # It has none.
    self.threads.tell_workers()
    return runtime.simulation_context(
      'native', max_concurrent_clients=self.threads.max_concurrent_clients
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ray(Runtime):
  """Processes of a Ray cluster, here or on other machines."""

  ray_address: str | None = settings.setting(
    None,
    'The Ray cluster to join, as host:port, or auto for the one that this'
    ' machine belongs to. By default the program starts a cluster on this'
    ' machine for itself alone.',
  )
  gpus_per_client: float = settings.setting(
    1.0,
    'GPUs for each client that works: with 0.5 two clients share one. Where'
    ' there are no GPUs, a client has the cores of --threads_per_operation.',
    settings.ABOVE_0,
  )
  actor_silence_seconds: float = settings.setting(
    60.0,
    'A process that answers nothing for so long is lost: others do its work.',
    settings.at_least(1),
  )
  client_seconds: float | None = settings.setting(
    None,
    'A process that needs longer than this for one client is lost, even if it'
    ' answers. By default it may take as long as it likes.',
    settings.at_least(1),
  )

  @property
  def has_sites(self) -> bool:
    """Whether an existing cluster is joined; a new cluster has no sites."""
    return self.ray_address is not None

  def limit_threads(
    self, count_pixels: Callable[[], threads_lib.BatchPixels]
  ) -> Self:
    """Sets the threads per operation, if a number is chosen.

    By default one process uses all cores, since a process for each core would
    need much memory.
    """
    del count_pixels
    unknown = threads_lib.BatchPixels(math.inf, math.inf, math.inf)
    return super().limit_threads(lambda: unknown)

  def check(self) -> None:
    """Checks the settings, and that Ray is installed."""
    with settings.blame('runtime', 'ray', runtime.WorkerError):
      ray_options.check_installed()
    gpus = self.gpus_per_client
    if gpus > 1 and not gpus.is_integer():
      raise settings.SettingError(
        'gpus_per_client', gpus, 'more than one GPU must be a whole number'
      )

  @contextlib.contextmanager
  def context(
    self, federation: sites.Federation | None = None
  ) -> Iterator[None]:
    try:
      with runtime.simulation_context(
        'ray',
        max_concurrent_clients=self.threads.max_concurrent_clients,
        ray=runtime.RayOptions(
          address=self.ray_address,
          threads_per_operation=self.threads.threads_per_operation,
          gpus_per_client=self.gpus_per_client,
          silence_seconds=self.actor_silence_seconds,
          client_seconds=self.client_seconds,
          federation=federation,
        ),
      ):
        yield
    except runtime.SiteError as error:
      raise settings.SettingError(
        'sites', federation.names, f'{error}; {_RESUMES}'
      ) from error
    except runtime.NotPortableError as error:
      raise settings.SettingError('runtime', 'ray', str(error)) from error
    except runtime.WorkerError as error:
      raise settings.SettingError(
        'runtime',
        'ray',
        f'{error}; {_RESUMES}',
      ) from error


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChosenRuntime(settings.Settings):
  """The choice of the runtime."""

  runtime: Runtime = settings.choice(
    {'in_process': InProcess(), 'native': Native(), 'ray': Ray()},
    'in_process',
    'What runs the computations: in_process, the TensorFlow of this program;'
    " native, a worker process of TFF's, on the CPU, a check on the former;"
    ' ray, processes of a Ray cluster, here or on many machines.',
  )
