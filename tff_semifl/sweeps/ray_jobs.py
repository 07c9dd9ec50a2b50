# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs programs on the machines of a Ray cluster with shared files.

Each program is a process of an actor, and ends with the actor and with this
process.
"""

from collections.abc import Mapping
import dataclasses
import os
import platform
import subprocess
import sys
from typing import Any

from absl import logging
import ray

from tff_semifl.sweeps import processes

# How often a program is restarted after its machine was lost.
_MAX_LOSSES = 2
_KILLED = -9
_TERMINATED = -15


class ClusterError(Exception):
  """A cluster cannot run a program."""


class RayCluster:
  """A place for jobs: the Ray cluster that this process is connected to."""

  def __init__(
    self,
    *,
    cpus_per_job: float | None,
    gpus_per_job: float,
    num_parallel: int | None,
  ):
    """Initializes the place.

    Args:
      cpus_per_job: CPU cores of a program; None for those of the machine with
        the fewest, so that each machine has room for one.
      num_parallel: The most programs at a time; None for as many as fit.
    """
    machines = _machines()
    if cpus_per_job is None:
      cpus = [each['CPU'] for each in machines if each.get('CPU', 0) >= 1]
      cpus_per_job = min(cpus, default=1)
    self._needs = {'CPU': cpus_per_job, 'GPU': gpus_per_job}
    self._num_parallel = num_parallel
    if not self._count_room(machines):
      raise ClusterError(
        f'none of its {len(machines)} machines has the {cpus_per_job:g} CPUs'
        f' and {gpus_per_job:g} GPUs of a run'
      )

  def max_parallel(self) -> int:
    """The number of programs that fit on all connected machines."""
    room = self._count_room(_machines())
    return room if self._num_parallel is None else min(room, self._num_parallel)

  def start(self, job: processes.Job) -> processes.Process:
    """Starts a program where there is room."""
    return _RemoteProcess(job, self._needs)

  def _count_room(self, machines: list[Mapping[str, float]]) -> int:
    return sum(
      min(
        int(machine.get(name, 0) / amount + 1e-6)
        for name, amount in self._needs.items()
        if amount
      )
      for machine in machines
    )


def _machines() -> list[Mapping[str, float]]:
  return [each['Resources'] for each in ray.nodes() if each['Alive']]


class _RemoteProcess:
  def __init__(self, job: processes.Job, needs: Mapping[str, float]):
    self._job = job
    self._needs = needs
    self._num_losses = 0
    self._is_ending = False
    self._exit_code = None
    self._start()

  def _start(self) -> None:
    self._actor = (
      # Two calls at a time: `terminate` comes while `run` runs.
      ray.remote(max_concurrency=2)(_Starter)
      .options(num_cpus=self._needs['CPU'], num_gpus=self._needs['GPU'])
      .remote()
    )
    self._place = self._actor.describe.remote()
    self._code = self._actor.run.remote(self._job, os.getcwd())

  def poll(self) -> int | None:
    """The exit code, None while the program runs."""
    if self._exit_code is None:
      self._exit_code = self._look()
    return self._exit_code

  def _look(self) -> int | None:
    if self._is_ending and not _is_done(self._place):
      # The actor still waits for a machine with room.
      ray.kill(self._actor)
      return _TERMINATED
    if not _is_done(self._code):
      return None
    try:
      return ray.get(self._code)
    except ray.exceptions.RayTaskError as error:
      raise ClusterError(
        f'{self._job.name} on {ray.get(self._place)}: {error.cause}'
      ) from error
    except ray.exceptions.RayError as error:
      self._num_losses += 1
      if self._is_ending or self._num_losses > _MAX_LOSSES:
        return _KILLED
      logging.warning(
        '%s is resumed on another machine: its own is lost (%s)',
        self._job.name,
        type(error).__name__,
      )
      self._start()
      return None

  def terminate(self) -> None:
    """Asks the program to end in order."""
    self._is_ending = True
    self._actor.terminate.remote()


def _is_done(reference: Any) -> bool:
  done, _ = ray.wait([reference], timeout=0)
  return bool(done)


class _Starter:
  """An actor that runs one program."""

  def __init__(self):
    self._process: subprocess.Popen | None = None
    self._is_ending = False

  def describe(self) -> str:
    """The name of the machine."""
    return platform.node()

  def run(self, job: processes.Job, folder: str) -> int:
    """Runs a program with this machine's Python, and returns its exit code."""
    os.chdir(folder)
    command = (sys.executable, *job.command[1:])
    self._process = processes.start_process(
      dataclasses.replace(job, command=command)
    )
    if self._is_ending:
      self._process.terminate()
    return self._process.wait()

  def terminate(self) -> None:
    """Asks the program to end in order."""
    self._is_ending = True
    if self._process is not None:
      self._process.terminate()
