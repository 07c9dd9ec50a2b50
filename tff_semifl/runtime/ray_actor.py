# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""An actor of Ray that runs programs, on the devices that Ray gives it."""

import collections
import os
import platform
from typing import Any, NamedTuple

import numpy as np
import ray
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import client_pool
from tff_semifl.runtime import cohorts
from tff_semifl.runtime import interpreter
from tff_semifl.runtime import leaves
from tff_semifl.runtime import ray_programs
from tff_semifl.runtime import ray_site
from tff_semifl.runtime import ray_values

# A training loop has a handful of programs.
_MAX_PROGRAMS = 32
# Requests in this group are answered while others run.
_HEALTH = 'health'
CONCURRENCY_GROUPS = {_HEALTH: 1}


class Software(NamedTuple):
  """Versions that numbers depend on, the same in all processes.

  Attributes:
    python: Of Python.
    tensorflow: Of TensorFlow.
    tensorflow_federated: Of TensorFlow Federated.
  """

  python: str
  tensorflow: str
  tensorflow_federated: str

  @classmethod
  def here(cls) -> 'Software':
    """Returns the versions of this process."""
    return cls(platform.python_version(), tf.__version__, tff.__version__)


class Actor:
  """Runs programs, one at a time. Keeps those that it has run before."""

  def __init__(self, threads_per_operation: int | None):
    """Prepares TensorFlow.

    Args:
      threads_per_operation: CPU threads that share the work of one operation;
        None for one for each core.
    """
    if threads_per_operation is not None:
      tf.config.threading.set_intra_op_parallelism_threads(
        threads_per_operation
      )
    for gpu in tf.config.list_physical_devices('GPU'):
      # Others may have a share of it.
      tf.config.experimental.set_memory_growth(gpu, True)
    # Of several GPUs Ray gives it one, which it sees as the first.
    self._pool = client_pool.ClientPool(max_concurrent_clients=1)
    self._scope = interpreter.Scope(cohorts.Cohort(0, self._pool), {})
    self._leaves = leaves.LeafCache()
    self._programs = collections.OrderedDict()
    self._site = ray_site.Site.here()

  @ray.method(concurrency_group=_HEALTH)
  def ping(self) -> None:
    """Gives a sign of life."""

  @ray.method(concurrency_group=_HEALTH)
  def describe(
    self,
  ) -> tuple[int, Software, ray_site.Description | None]:
    """Returns the id of the process, its versions and its site, if any."""
    site = None if self._site is None else self._site.description
    return os.getpid(), Software.here(), site

  def run(
    self,
    key: str,
    content: list[ray.ObjectRef],
    shared: list[Any],
    own: list[Any],
    *data: np.ndarray,
  ) -> list[Any]:
    """Runs a program.

    Args:
      key: Of the program.
      content: A list with its content, which is not fetched twice.
      shared: For each input a list with what all clients have, encoded; empty
        if each has its own.
      own: For each of the other inputs what this client has, encoded.
      *data: Contents of datasets.

    Returns:
      The outputs, encoded.

    Raises:
      errors.ComputationError: TensorFlow reported an error.
      errors.SiteError: This is a site, which refuses the program or cannot read
        its images.
    """
    evaluate, output_types = self._program(key, content)
    if self._site is not None:
      self._site.check_inputs([shared, own])
    members = iter(own)

    def read_content(number):
      return data[number].tobytes()

    with self._pool.at_server():
      inputs = [
        ray_values.decode(
          each[0] if each else next(members),
          read_content,
          None if self._site is None else self._site.read,
        )
        for each in shared
      ]
      outputs = evaluate(self._scope)(inputs)
    return ray_values.encode(outputs, output_types)

  def _program(self, key, content):
    if key not in self._programs:
      while len(self._programs) >= _MAX_PROGRAMS:
        self._programs.popitem(last=False)
      block = ray_programs.read(ray.get(content[0]).tobytes())
      if self._site is not None:
        self._site.check_program(block)
      self._programs[key] = (
        interpreter.build_evaluate(block, self._leaves),
        block.type_signature.result,
      )
    self._programs.move_to_end(key)
    return self._programs[key]
