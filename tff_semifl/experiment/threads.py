# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Settings of CPU threads, and of clients that train at the same time."""

from collections.abc import Callable
import dataclasses
import os
from typing import NamedTuple, Self

import tensorflow as tf

from tff_semifl import runtime
from tff_semifl import settings

# 32 images of 32x32. On two cores, such a batch takes as long with one thread
# as with two (docs/benchmarks.md).
_FEW_PIXELS = 32 * 32 * 32
_VARIABLE = 'TF_NUM_INTRAOP_THREADS'


class BatchPixels(NamedTuple):
  """Pixels of the largest batches; infinity if unknown."""

  of_clients: float
  of_server: float
  of_inference: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Threads(settings.Settings):
  """CPU threads per operation, and the number of concurrent clients."""

  max_concurrent_clients: int | None = settings.setting(
    None,
    'Clients that train at the same time. By default one for each GPU; without'
    ' a limit in a TFF worker; else cores divided by threads per operation, if'
    ' these are chosen or fewer than the cores. Results do not depend on it.',
    settings.AT_LEAST_1,
  )
  threads_per_operation: int | None = settings.setting(
    None,
    'CPU threads of one operation. By default as many as cores, but 1 where all'
    ' batches (250 images in evaluations) have at most the pixels of 32 images'
    ' of 32x32 (in a TFF worker: where all training batches have), if there'
    ' are clients and no GPU, and not with --runtime=ray. With 1 thread small'
    ' batches train faster and large ones slower, and the last digits of'
    ' numbers do not depend on the number of cores.',
    settings.AT_LEAST_1,
  )

  def limit(self, count_pixels: Callable[[], BatchPixels]) -> Self:
    """Sets the threads per operation, before TensorFlow initializes.

    `count_pixels` is called only if no number of threads is chosen.
    """
    number = self.threads_per_operation
    if number is None and _is_free():
      pixels = count_pixels()
      if max(pixels.of_clients, pixels.of_server) <= _FEW_PIXELS:
        number = 1
    is_chosen = self.threads_per_operation is not None
    if number is None or not _set_threads(number, is_chosen=is_chosen):
      return self
    return dataclasses.replace(self, threads_per_operation=number)

  def tell_workers(self) -> None:
    """Passes the number of threads to TFF workers started later."""
    if self.threads_per_operation is not None:
      os.environ[_VARIABLE] = str(self.threads_per_operation)

  @property
  def threads_of_clients(self) -> int | None:
    """CPU threads per operation in client updates; None for all cores."""
    return self.threads_per_operation

  @property
  def num_clients(self) -> int | None:
    """Concurrent clients in this process; None for one per device."""
    threads = self.threads_of_clients
    if (
      self.max_concurrent_clients is not None
      or threads is None
      or tf.config.list_physical_devices('GPU')
    ):
      return self.max_concurrent_clients
    return max(1, len(os.sched_getaffinity(0)) // threads)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlacedThreads(Threads):
  """CPU threads per operation that may differ between server and clients."""

  client_threads_per_operation: int | None = settings.setting(
    None,
    'CPU threads of one operation in client updates. By default'
    ' --threads_per_operation if that is given, else 1 where no training batch'
    ' of clients has more pixels than 32 images of 32x32: several clients with'
    ' a thread each are faster than one with all cores. For CPUs.',
    settings.AT_LEAST_1,
  )

  def limit(self, count_pixels: Callable[[], BatchPixels]) -> Self:
    of_server = self.threads_per_operation
    of_clients = self.client_threads_per_operation
    if of_clients is not None and tf.config.list_physical_devices('GPU'):
      raise settings.SettingError(
        'client_threads_per_operation',
        of_clients,
        'here, clients work on GPUs; leave it out',
      )
    is_chosen = not (of_server is of_clients is None)
    if not is_chosen:
      pixels = count_pixels() if _is_free() else None
      if pixels is None or pixels.of_clients > _FEW_PIXELS:
        return self
      of_clients = 1
      if max(pixels.of_server, pixels.of_inference) <= _FEW_PIXELS:
        of_server = 1
    if of_server is None:
      of_server = int(os.environ.get(_VARIABLE) or len(os.sched_getaffinity(0)))
    if not _set_threads(of_server, is_chosen=is_chosen):
      return self
    # TensorFlow reads this when it creates its devices.
    os.environ[runtime.OWN_THREADS] = 'true'
    return dataclasses.replace(
      self,
      threads_per_operation=of_server,
      client_threads_per_operation=(
        None if of_clients == of_server else of_clients
      ),
    )

  @property
  def threads_of_clients(self) -> int | None:
    return self.client_threads_per_operation or self.threads_per_operation


def _set_threads(number: int, *, is_chosen: bool) -> bool:
  """Sets the threads per operation; False if TensorFlow is initialized."""
  try:
    tf.config.threading.set_intra_op_parallelism_threads(number)
  except RuntimeError:
    if is_chosen:
      raise
    return False
  return True


def _is_free() -> bool:
  """Whether no environment variable is set and there is no GPU."""
  # TensorFlow itself reads the variable.
  return _VARIABLE not in os.environ and not tf.config.list_physical_devices(
    'GPU'
  )
