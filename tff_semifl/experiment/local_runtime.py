# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The settings of all runtimes, and the runtime in this process."""

import abc
from collections.abc import Callable
import contextlib
import dataclasses
import os
from typing import ClassVar, NamedTuple, Self

import tensorflow as tf

from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.runtime import sites

# 32 images of 32x32 pixels. On two cores, such a batch takes as long with one
# thread as with two threads (docs/benchmarks.md).
_FEW_PIXELS = 32 * 32 * 32
THREADS_VARIABLE = 'TF_NUM_INTRAOP_THREADS'


class BatchPixels(NamedTuple):
  """Numbers of pixels in the largest batches; infinity if unknown."""

  of_clients: float
  of_server: float
  of_inference: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Threads(settings.Settings):
  """CPU threads per operation, and the number of concurrent clients."""

  max_concurrent_clients: int | None = settings.setting(
    None,
    'Clients that train at the same time. By default one for each GPU, else'
    ' cores divided by threads per operation. Results do not depend on this'
    ' number.',
    settings.AT_LEAST_1,
  )
  threads_per_operation: int | None = settings.setting(
    None,
    'CPU threads of one operation. By default the number of cores. In process'
    ' and without a GPU, the default is 1 in client updates if batches have at'
    ' most the pixels of 32 images of 32x32, and 1 everywhere if all batches'
    ' are this small. With 1 thread, small batches train faster, and the last'
    ' digits of numbers do not depend on the number of cores.',
    settings.AT_LEAST_1,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Runtime(settings.Settings, abc.ABC):
  """Base class of runtimes.

  Attributes:
    threads: Limits on threads and on concurrent clients.
    has_sites: Whether the runtime can reach sites that hold clients' images.
  """

  threads: Threads = Threads()
  has_sites: ClassVar[bool] = False

  @abc.abstractmethod
  def context(
    self, federation: sites.Federation | None = None
  ) -> contextlib.AbstractContextManager[None]:
    """A context manager that runs TFF computations on this runtime.

    `federation` has the sites that hold clients' images, if there are sites.
    """

  def check(self) -> None:
    """Raises a SettingError if the runtime cannot be used as set."""

  def limit_threads(self, count_pixels: Callable[[], BatchPixels]) -> Self:
    """Sets the threads per operation, before TensorFlow initializes.

    Returns the new runtime. Only default threads depend on `count_pixels`.
    """
    del count_pixels
    if self.threads.threads_per_operation is not None:
      tf.config.threading.set_intra_op_parallelism_threads(
        self.threads.threads_per_operation
      )
    return self


@dataclasses.dataclass(frozen=True, kw_only=True)
class InProcess(Runtime):
  """TensorFlow in this process.

  `client_threads` is the number of CPU threads per operation in client updates,
  set by `limit_threads`; None for the same number as other operations.
  """

  client_threads: int | None = None

  def limit_threads(self, count_pixels: Callable[[], BatchPixels]) -> Self:
    chosen = self.threads.threads_per_operation
    number = of_clients = chosen
    if chosen is None:
      # TensorFlow itself reads the variable.
      if THREADS_VARIABLE in os.environ or tf.config.list_physical_devices(
        'GPU'
      ):
        return self
      pixels = count_pixels()
      if pixels.of_clients > _FEW_PIXELS:
        return self
      number, of_clients = len(os.sched_getaffinity(0)), 1
      if max(pixels.of_server, pixels.of_inference) <= _FEW_PIXELS:
        number = 1
    try:
      tf.config.threading.set_intra_op_parallelism_threads(number)
    except RuntimeError:  # TensorFlow is initialized.
      if chosen is None:
        return self
      raise
    # TensorFlow reads this when it creates its devices.
    os.environ[runtime.OWN_THREADS] = 'true'
    return dataclasses.replace(
      self,
      threads=settings.change(self.threads, {'threads_per_operation': number}),
      client_threads=None if of_clients == number else of_clients,
    )

  @property
  def num_clients(self) -> int | None:
    """The number of concurrent clients; None for one per device."""
    threads = self.client_threads or self.threads.threads_per_operation
    if (
      self.threads.max_concurrent_clients is not None
      or threads is None
      or tf.config.list_physical_devices('GPU')
    ):
      return self.threads.max_concurrent_clients
    return max(1, len(os.sched_getaffinity(0)) // threads)

  def context(
    self, federation: sites.Federation | None = None
  ) -> contextlib.AbstractContextManager[None]:
    del federation  # This runtime has no sites.
    return runtime.simulation_context(
      max_concurrent_clients=self.num_clients,
      client_threads_per_operation=self.client_threads,
    )
