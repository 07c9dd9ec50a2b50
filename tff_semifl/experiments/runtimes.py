# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The settings of what runs the computations."""

import abc
from collections.abc import Callable, Iterator
import contextlib
import dataclasses
import math
import os
from typing import ClassVar, Self

import tensorflow as tf

from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl import sites
from tff_semifl.runtime import ray_environment

_RESUMES = 'the same command goes on from the last complete round'

# 32 images of 32x32. On two cores, such a batch takes as long with one thread
# as with two (docs/benchmarks.md).
_FEW_PIXELS = 32 * 32 * 32
_VARIABLE = 'TF_NUM_INTRAOP_THREADS'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Threads(settings.Settings):
  """The shares of clients and operations in the cores of a process."""

  max_concurrent_clients: int | None = settings.setting(
    None,
    'Clients that work at the same time. By default one for each GPU, no limit'
    ' in a worker of TFF, and otherwise one; with --threads_per_operation, or'
    ' where that is 1 by default, as many as it leaves cores for. Results do'
    ' not depend on it.',
    settings.AT_LEAST_1,
  )
  threads_per_operation: int | None = settings.setting(
    None,
    'CPU threads that share the work of one operation. By default 1 where there'
    ' are clients, no batch that is trained on has more pixels than 32 images'
    ' of 32x32, and no GPU is there (not with --runtime=ray); otherwise one for'
    ' each core. With 1 small batches train faster, up to twice as fast on two'
    ' cores, large ones slower; and numbers do not depend on how many cores'
    ' there are, as their last digits otherwise do.',
    settings.AT_LEAST_1,
  )

  def limit(self, count_batch_pixels: Callable[[], float]) -> 'Threads':
    """Limits threads of operations, before TensorFlow is at work.

    Args:
      count_batch_pixels: Returns the pixels of the largest batch that is
        trained on; called only where nothing is chosen.

    Returns:
      It with the threads of an operation. Where none are chosen, that is one
      for small batches, unless TensorFlow is at work already.

    Raises:
      RuntimeError: If some are chosen, and TensorFlow is at work.
    """
    number = self.threads_per_operation
    if (
      number is None
      # What TensorFlow heeds by itself.
      and _VARIABLE not in os.environ
      and not tf.config.list_physical_devices('GPU')
      and count_batch_pixels() <= _FEW_PIXELS
    ):
      number = 1
    if number is None:
      return self
    try:
      tf.config.threading.set_intra_op_parallelism_threads(number)
    except RuntimeError:
      if self.threads_per_operation is None:
        return self
      raise
    return dataclasses.replace(self, threads_per_operation=number)

  @property
  def num_clients(self) -> int | None:
    """The number of clients that work at once in process; None for devices."""
    if (
      self.max_concurrent_clients is not None
      or self.threads_per_operation is None
      or tf.config.list_physical_devices('GPU')
    ):
      return self.max_concurrent_clients
    num_cores = len(os.sched_getaffinity(0))
    return max(1, num_cores // self.threads_per_operation)


class Runtime(settings.Settings, abc.ABC):
  """Base of what runs the computations.

  Attributes:
    by_index: Whether images are read from a file that it shares with its
      worker.
    has_xla: Whether it can compile with XLA.
  """

  by_index: ClassVar[bool] = False
  has_xla: ClassVar[bool] = True

  @property
  def has_sites(self) -> bool:
    """True if it reaches sites that have images of their own."""
    return False

  @property
  def static_turns(self) -> bool:
    """True if clients' turns need shapes that do not depend on values."""
    return False

  @abc.abstractmethod
  def context(
    self, federation: sites.Federation | None = None
  ) -> contextlib.AbstractContextManager[None]:
    """Runs the computations called in the `with` block.

    Args:
      federation: The sites that have the images of clients, if they do.
    """

  def check(self) -> None:
    """Checks its settings.

    Raises:
      settings.SettingError: If it cannot work with them.
    """

  @abc.abstractmethod
  def limit_threads(self, count_batch_pixels: Callable[[], float]) -> 'Runtime':
    """Limits threads of operations, before TensorFlow is at work.

    Args:
      count_batch_pixels: Returns the pixels of the largest batch that is
        trained on; called only where nothing is chosen.

    Returns:
      It with what suits such batches, where nothing is chosen.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class _OnThisMachine(Runtime):
  """Base of those whose threads this program limits."""

  threads: Threads = Threads()

  def limit_threads(self, count_batch_pixels: Callable[[], float]) -> Self:
    """Limits threads of operations, before TensorFlow is at work.

    Args:
      count_batch_pixels: Returns the pixels of the largest batch that is
        trained on; called only where nothing is chosen.
    """
    return dataclasses.replace(
      self, threads=self.threads.limit(count_batch_pixels)
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class InProcess(_OnThisMachine):
  """The TensorFlow of this program."""

  clients_at_once: int = settings.setting(
    1,
    'Clients with equally many images that each operation computes for. On a'
    ' GPU several need fewer launches together, and more memory; on a CPU'
    ' nothing is gained. Last digits of numbers depend on it. For systems in'
    ' which updates of clients are averaged.',
    settings.AT_LEAST_1,
  )

  @property
  def static_turns(self) -> bool:
    """True if several clients compute at once."""
    return self.clients_at_once > 1

  def limit_threads(self, count_batch_pixels: Callable[[], float]) -> Self:
    """Limits threads of operations, before TensorFlow is at work.

    Args:
      count_batch_pixels: Returns the pixels of the largest batch that is
        trained on; called only where nothing is chosen.
    """
    return super().limit_threads(
      lambda: self.clients_at_once * count_batch_pixels()
    )

  @contextlib.contextmanager
  def context(
    self, federation: sites.Federation | None = None
  ) -> Iterator[None]:
    """Runs the computations called in the `with` block.

    Args:
      federation: None; it has no sites.

    Raises:
      settings.SettingError: If clients cannot compute at once.
    """
    del federation
    with (
      settings.blame(
        'clients_at_once', self.clients_at_once, runtime.NotAtOnceError
      ),
      runtime.simulation_context(
        'in_process',
        max_concurrent_clients=self.threads.num_clients,
        clients_at_once=self.clients_at_once,
      ),
    ):
      yield


@dataclasses.dataclass(frozen=True, kw_only=True)
class Native(_OnThisMachine):
  """A worker process of TFF's, on the CPU, a check on the others."""

  by_index = True
  has_xla = False

  def limit_threads(self, count_batch_pixels: Callable[[], float]) -> Self:
    """Limits threads of operations, those of the worker, too.

    Args:
      count_batch_pixels: Returns the pixels of the largest batch that is
        trained on; called only where nothing is chosen.
    """
    limited = super().limit_threads(count_batch_pixels)
    number = limited.threads.threads_per_operation
    if number is not None:
      # The worker reads it from here.
      os.environ[_VARIABLE] = str(number)
    return limited

  def context(
    self, federation: sites.Federation | None = None
  ) -> contextlib.AbstractContextManager[None]:
    """Runs the computations called in the `with` block."""
    del federation  # It has none.
    return runtime.simulation_context(
      'native', max_concurrent_clients=self.threads.max_concurrent_clients
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ray(Runtime):
  """Processes of a Ray cluster, here or on other machines."""

  threads: Threads = Threads()
  ray_address: str | None = settings.setting(
    None,
    'The Ray cluster to join, as host:port, or auto for the one that this'
    ' machine belongs to. By default one of this program alone is started, on'
    ' this machine, which nobody else can use.',
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
    """True if it joins a cluster: one of this program alone has no sites."""
    return self.ray_address is not None

  def limit_threads(self, count_batch_pixels: Callable[[], float]) -> 'Ray':
    """Limits threads of operations, before TensorFlow is at work.

    Args:
      count_batch_pixels: Unused. A process for each core would need much
        memory.
    """
    del count_batch_pixels
    return dataclasses.replace(
      self, threads=self.threads.limit(lambda: math.inf)
    )

  def check(self) -> None:
    """Checks that Ray is installed, and its settings.

    Raises:
      settings.SettingError: If it cannot work with them.
    """
    with settings.blame('runtime', 'ray', runtime.WorkerError):
      ray_environment.check_installed()
    gpus = self.gpus_per_client
    if gpus > 1 and not gpus.is_integer():
      raise settings.SettingError(
        'gpus_per_client', gpus, 'more than one GPU must be a whole number'
      )

  @contextlib.contextmanager
  def context(
    self, federation: sites.Federation | None = None
  ) -> Iterator[None]:
    """Runs the computations called in the `with` block.

    Args:
      federation: The sites that have the images of clients, if they do.

    Raises:
      settings.SettingError: If no cluster or site is there, or nothing of it
        left.
    """
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
    except runtime.WorkerError as error:
      raise settings.SettingError(
        'runtime',
        'ray',
        f'{error}; {_RESUMES}',
      ) from error


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChosenRuntime(settings.Settings):
  """The runtime."""

  runtime: Runtime = settings.choice(
    {'in_process': InProcess(), 'native': Native(), 'ray': Ray()},
    'in_process',
    'What runs the computations: in_process, the TensorFlow of this program;'
    " native, a worker process of TFF's, on the CPU, a check on the former;"
    ' ray, processes of a Ray cluster, here or on many machines.',
  )
