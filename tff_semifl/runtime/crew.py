# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A group of workers, some of which may be lost while they work."""

from collections.abc import Callable, Sequence
from concurrent import futures
import threading
from typing import TypeVar

from absl import logging

from tff_semifl.runtime import errors
from tff_semifl.runtime import remote_worker

_Result = TypeVar('_Result')

# How long one that was lost may take to show that it is back.
_RETURN_SECONDS = 1


class Crew:
  """Gives tasks to workers, and those of a lost one to those left.

  Attributes:
    size: The number of workers, the lost ones included.
  """

  def __init__(self, workers: Sequence[remote_worker.RemoteWorker]):
    """Initializes the crew.

    Args:
      workers: The workers. All count as lost until `muster`.
    """
    self.size = len(workers)
    self._workers = workers
    self._idle: list[remote_worker.RemoteWorker] = []
    self._lost = {worker: 'not asked yet' for worker in workers}
    self._changed = threading.Condition()
    self._is_closed = False
    self._threads = futures.ThreadPoolExecutor(self.size, 'worker')

  def close(self) -> None:
    """Ends the connections to all workers, and calls with them."""
    self._is_closed = True
    for worker in self._workers:
      worker.close()
    self._threads.shutdown(wait=False, cancel_futures=True)

  def muster(self, seconds: float | None = None) -> None:
    """Asks the lost workers whether they are there, all at the same time.

    Args:
      seconds: How long to wait for an answer; by default as long as for one
        that is at work.

    Raises:
      errors.WorkerError: No worker is left.
    """
    lost = list(self._lost)
    reasons = list(
      self._threads.map(lambda each: _why_lost(each, seconds), lost)
    )
    with self._changed:
      for worker, why in zip(lost, reasons, strict=True):
        if why is not None:
          self._lost[worker] = why
        else:
          del self._lost[worker]
          self._idle.append(worker)
      if len(self._lost) == self.size:
        raise self._no_worker()

  def report_lost(self) -> None:
    """Says in the log which workers are lost, and why."""
    for why in self._lost.values():
      logging.warning('%s; going on without it', why)

  def return_lost(self) -> None:
    """Takes back lost workers that answer again.

    Raises:
      errors.WorkerError: No worker is left.
    """
    before = set(self._lost)
    if before:
      self.muster(_RETURN_SECONDS)
    for worker in before - set(self._lost):
      logging.warning('worker %s is back', worker.address)

  def run(
    self, tasks: Sequence[Callable[[remote_worker.RemoteWorker], _Result]]
  ) -> list[_Result]:
    """Runs tasks, each on some worker.

    Args:
      tasks: What to do with a worker. A task whose worker is lost is done again
        with another.

    Returns:
      The results, in the order of the tasks.

    Raises:
      errors.WorkerError: No worker is left.
      errors.ComputationError: A computation failed.
    """
    running = [self._threads.submit(self._run, task) for task in tasks]
    try:
      return [each.result() for each in running]
    finally:
      for each in running:
        each.cancel()

  def _run(self, task):
    while True:
      worker = self._take()
      try:
        return task(worker)
      except errors.WorkerError as error:
        self._lose(worker, str(error))
        worker = None
      finally:
        if worker is not None:
          with self._changed:
            self._idle.append(worker)
            self._changed.notify()

  def _take(self):
    with self._changed:
      while not self._idle:
        if len(self._lost) == self.size:
          raise self._no_worker()
        self._changed.wait()
      # A shard goes to the same worker each time, if that is there.
      worker = min(self._idle, key=self._workers.index)
      self._idle.remove(worker)
      return worker

  def _lose(self, worker, why):
    with self._changed:
      self._lost[worker] = why
      left = self.size - len(self._lost)
      if left and not self._is_closed:
        logging.warning(
          '%s; what it did is done again by the %d left', why, left
        )
      self._changed.notify_all()

  def _no_worker(self):
    return errors.WorkerError(
      'no worker is left: ' + '; '.join(sorted(self._lost.values()))
    )


def _why_lost(worker, seconds):
  try:
    worker.check(seconds)
  except errors.WorkerError as error:
    return str(error)
  return None
