# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runtimes of TFF computations: this process, a worker, or a Ray cluster."""

from tff_semifl.runtime.contexts import AsyncContext
from tff_semifl.runtime.contexts import simulation_context
from tff_semifl.runtime.errors import ComputationError
from tff_semifl.runtime.errors import NotPortableError
from tff_semifl.runtime.errors import SiteError
from tff_semifl.runtime.errors import WorkerError
from tff_semifl.runtime.in_process import InProcessContext
from tff_semifl.runtime.limited_functions import OWN_THREADS
from tff_semifl.runtime.ray.options import RayOptions
from tff_semifl.runtime.ray.programs import find_client_programs

__all__ = (
  'OWN_THREADS',
  'AsyncContext',
  'ComputationError',
  'InProcessContext',
  'NotPortableError',
  'RayOptions',
  'SiteError',
  'WorkerError',
  'find_client_programs',
  'simulation_context',
)
