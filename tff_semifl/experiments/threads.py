# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The settings of threads: of operations, and of clients."""

from collections.abc import Callable
import dataclasses
import os
from typing import NamedTuple

import tensorflow as tf

from tff_semifl import runtime
from tff_semifl import settings

# 32 images of 32x32. On two cores, such a batch takes as long with one thread
# as with two (docs/benchmarks.md).
_FEW_PIXELS = 32 * 32 * 32
_VARIABLE = 'TF_NUM_INTRAOP_THREADS'


class BatchPixels(NamedTuple):
  """Pixels of the largest batches that an operation computes for.

  Attributes:
    of_clients: What clients train on; infinity if that is not known.
    of_server: What the server trains on; likewise.
    of_inference: What statistics and evaluations take.
  """

  of_clients: float
  of_server: float
  of_inference: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Threads(settings.Settings):
  """The shares of clients and operations in the cores of a process."""

  max_concurrent_clients: int | None = settings.setting(
    None,
    'Clients that work at the same time. By default one for each GPU, no limit'
    ' in a worker of TFF, and otherwise as many as the threads of their'
    ' operations leave cores for, if these threads are chosen or fewer than'
    ' there are cores. Results do not depend on it.',
    settings.AT_LEAST_1,
  )
  threads_per_operation: int | None = settings.setting(
    None,
    'CPU threads that share the work of one operation. By default one for each'
    ' core; but 1 for small images, of which 250 (a batch of an evaluation)'
    ' have no more pixels than 32 of 32x32, and in a worker of TFF where no'
    ' batch that is trained on has more; if there are clients and no GPU (not'
    ' with --runtime=ray). With 1 small batches train faster, large ones'
    ' slower; and numbers do not depend on how many cores there are, as their'
    ' last digits otherwise do.',
    settings.AT_LEAST_1,
  )

  def limit(self, count_pixels: Callable[[], BatchPixels]) -> 'Threads':
    """Limits threads of operations, before TensorFlow is at work.

    Args:
      count_pixels: Returns pixels of batches; called only where nothing is
        chosen.

    Returns:
      It with the threads of an operation. Where none are chosen, that is one
      for small batches, unless TensorFlow is at work already.

    Raises:
      RuntimeError: If some are chosen, and TensorFlow is at work.
    """
    number = self.threads_per_operation
    if number is None and _is_free():
      pixels = count_pixels()
      if max(pixels.of_clients, pixels.of_server) <= _FEW_PIXELS:
        number = 1
    if number is None or not _set_threads(
      number, is_chosen=self.threads_per_operation is not None
    ):
      return self
    return dataclasses.replace(self, threads_per_operation=number)

  def tell_workers(self) -> None:
    """Gives the processes of TFF that are started from now on as many."""
    if self.threads_per_operation is not None:
      os.environ[_VARIABLE] = str(self.threads_per_operation)

  @property
  def threads_of_clients(self) -> int | None:
    """CPU threads of an operation in a client's turn; None for all cores."""
    return self.threads_per_operation

  @property
  def num_clients(self) -> int | None:
    """The number of clients that work at once in process; None for devices."""
    if (
      self.max_concurrent_clients is not None
      or self.threads_of_clients is None
      or tf.config.list_physical_devices('GPU')
    ):
      return self.max_concurrent_clients
    return max(1, _num_cores() // self.threads_of_clients)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlacedThreads(Threads):
  """The shares where operations of clients may have other threads."""

  client_threads_per_operation: int | None = settings.setting(
    None,
    'CPU threads that share the work of one operation in the turns of clients.'
    ' By default --threads_per_operation if that is given, and otherwise 1'
    ' where no batch that clients train on has more pixels than 32 images of'
    ' 32x32, because several clients at a time, with a thread each, are faster'
    ' than one with all cores. For CPUs.',
    settings.AT_LEAST_1,
  )

  def limit_by_place(
    self, count_pixels: Callable[[], BatchPixels]
  ) -> 'PlacedThreads':
    """Limits threads of clients and of the server, as `limit` does.

    Args:
      count_pixels: Returns pixels of batches; called only where nothing is
        chosen.

    Returns:
      It with the threads of an operation, and those of clients if these are
      others.

    Raises:
      RuntimeError: If some are chosen, and TensorFlow is at work.
      settings.SettingError: If some are chosen for clients, and these work on a
        GPU.
    """
    at_server = self.threads_per_operation
    at_clients = self.client_threads_per_operation
    if at_clients is not None and tf.config.list_physical_devices('GPU'):
      raise settings.SettingError(
        'client_threads_per_operation',
        at_clients,
        'here, clients work on GPUs; leave it out',
      )
    if at_server is at_clients is None and _is_free():
      pixels = count_pixels()
      if pixels.of_clients <= _FEW_PIXELS:
        at_clients = 1
        if max(pixels.of_server, pixels.of_inference) <= _FEW_PIXELS:
          at_server = 1
    if at_server is at_clients is None:
      return self
    if at_server is None:
      at_server = int(os.environ.get(_VARIABLE) or _num_cores())
    is_chosen = not (
      self.threads_per_operation is self.client_threads_per_operation is None
    )
    if not _set_threads(at_server, is_chosen=is_chosen):
      return self
    # In time for the devices of TensorFlow, which there are not yet.
    os.environ[runtime.OWN_THREADS] = 'true'
    return dataclasses.replace(
      self,
      threads_per_operation=at_server,
      client_threads_per_operation=(
        None if at_clients == at_server else at_clients
      ),
    )

  @property
  def threads_of_clients(self) -> int | None:
    """CPU threads of an operation in a client's turn; None for all cores."""
    return self.client_threads_per_operation or self.threads_per_operation


def _set_threads(number: int, *, is_chosen: bool) -> bool:
  """Gives operations threads, and returns whether they have so many.

  Args:
    number: How many.
    is_chosen: Whether they must have so many.

  Raises:
    RuntimeError: If they must, and TensorFlow is at work with others.
  """
  try:
    tf.config.threading.set_intra_op_parallelism_threads(number)
  except RuntimeError:
    if is_chosen:
      raise
    return False
  return True


def _is_free() -> bool:
  """Returns whether nothing but batches says how many threads to have."""
  # TensorFlow heeds the variable by itself.
  return _VARIABLE not in os.environ and not tf.config.list_physical_devices(
    'GPU'
  )


def _num_cores() -> int:
  return len(os.sched_getaffinity(0))
