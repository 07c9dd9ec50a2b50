# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A Ray actor that runs programs, on the devices that Ray assigns to it."""

import collections
import os
import platform
from typing import Any

import numpy as np
import ray
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import cohorts
from tff_semifl.runtime import graph_functions
from tff_semifl.runtime import interpreter
from tff_semifl.runtime.ray import programs as ray_programs
from tff_semifl.runtime.ray import site as ray_site
from tff_semifl.runtime.ray import values as ray_values

# A training loop has a handful of programs.
_MAX_PROGRAMS = 32
# Ray answers requests of this group while others run.
_HEALTH = 'health'
CONCURRENCY_GROUPS = {_HEALTH: 1}


def name_software() -> str:
  """The versions that determine results, and must be equal in all processes."""
  return (
    f'Python {platform.python_version()}, TensorFlow {tf.__version__},'
    f' TFF {tff.__version__}'
  )


class Actor:
  """Runs programs, one at a time, and caches compiled programs."""

  def __init__(self, threads_per_operation: int | None):
    """Prepares TensorFlow; None stands for one thread per core."""
    if threads_per_operation is not None:
      tf.config.threading.set_intra_op_parallelism_threads(
        threads_per_operation
      )
    for gpu in tf.config.list_physical_devices('GPU'):
      # Other actors may share the GPU.
      tf.config.experimental.set_memory_growth(gpu, True)
    # The first visible GPU is the one that Ray assigned to this actor.
    self._pool = cohorts.ClientPool(max_concurrent_clients=1)
    self._scope = interpreter.Scope(cohorts.Cohort(0, self._pool), {})
    self._functions = graph_functions.GraphFunctionCache()
    self._programs = collections.OrderedDict()
    self._site = ray_site.Site.here()

  @ray.method(concurrency_group=_HEALTH)
  def ping(self) -> None:
    """Returns at once, to show that the actor is alive."""

  @ray.method(concurrency_group=_HEALTH)
  def describe(
    self,
  ) -> tuple[int, str, ray_site.Description | None]:
    """The process id, the versions, and the site (None if at no site)."""
    site = None if self._site is None else self._site.description
    return os.getpid(), name_software(), site

  def run(
    self,
    key: str,
    content: list[ray.ObjectRef],
    shared: list[Any],
    own: list[Any],
    *data: np.ndarray,
  ) -> list[Any]:
    """Runs a program, and returns its encoded outputs.

    Args:
      key: The key of the program.
      content: A reference to the program's content, fetched if `key` is new.
      shared: For each input, a list with the encoded value if all clients share
        the value; otherwise an empty list.
      own: The encoded values of the inputs that clients do not share.
      data: The contents to which encoded datasets refer by index.
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
        interpreter.build_evaluate(block, self._functions),
        block.type_signature.result,
      )
    self._programs.move_to_end(key)
    return self._programs[key]
