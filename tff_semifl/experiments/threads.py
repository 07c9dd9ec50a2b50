# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The settings of threads: of operations, and of clients."""

from collections.abc import Callable
import dataclasses
import os

import tensorflow as tf

from tff_semifl import settings

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

  def tell_workers(self) -> None:
    """Gives the processes of TFF that are started from now on as many."""
    if self.threads_per_operation is not None:
      os.environ[_VARIABLE] = str(self.threads_per_operation)

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
