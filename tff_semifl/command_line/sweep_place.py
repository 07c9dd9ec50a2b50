# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags of where a sweep trains, and of the number of parallel runs."""

from collections.abc import Iterator
import contextlib

from absl import flags

from tff_semifl import runtime
from tff_semifl.command_line import program
from tff_semifl.sweeps import processes

_PARALLEL = flags.DEFINE_integer(
  'parallel',
  None,
  'Number of runs at the same time, by default 1. Each uses all cores, the same'
  ' GPUs, and memory of its own: choose more than 1 only on a machine that one'
  ' run does not keep busy. With --cluster, the largest number of runs at the'
  ' same time, by default as many as the cluster has room for.',
  lower_bound=1,
)
_CLUSTER = flags.DEFINE_string(
  'cluster',
  None,
  'Ray cluster whose machines train the runs: host:port; auto for the cluster'
  ' that this machine belongs to; local for one of this machine alone, whose'
  ' runs share its CPUs and GPUs. By default runs are processes of this'
  ' machine.',
)
_CPUS_PER_RUN = flags.DEFINE_float(
  'cpus_per_run',
  None,
  'With --cluster, CPU cores of each run, which determine how many a machine'
  ' trains at a time. By default all cores of the smallest machine.',
  lower_bound=0.01,
)
_GPUS_PER_RUN = flags.DEFINE_float(
  'gpus_per_run',
  None,
  'With --cluster, GPUs of each run, which sees no others; 0.5 lets two runs'
  ' share one. By default none.',
  lower_bound=0.01,
)
for _flag in (_CPUS_PER_RUN, _GPUS_PER_RUN):
  flags.register_multi_flags_validator(
    [_CLUSTER, _flag],
    lambda values, name=_flag.name: values['cluster'] is not None
    or values[name] is None,
    message=f'--{_flag.name} is for --cluster',
  )


@contextlib.contextmanager
def open_place(num_runs: int) -> Iterator[processes.Place]:
  """Opens the place where runs are trained.

  Args:
    num_runs: The number of runs; a cluster is not started for none.
  """
  if _CLUSTER.value is None or not num_runs:
    yield processes.ThisMachine(_PARALLEL.value or 1)
    return
  address = None if _CLUSTER.value == 'local' else _CLUSTER.value
  with program.blame(_CLUSTER, runtime.WorkerError):
    with runtime.ray_connection(address):
      # It imports Ray, which is not always installed.
      from tff_semifl.sweeps import ray_jobs

      with program.blame(_CLUSTER, ray_jobs.ClusterError):
        yield ray_jobs.RayCluster(
          cpus_per_job=_CPUS_PER_RUN.value,
          gpus_per_job=_GPUS_PER_RUN.value or 0,
          num_parallel=_PARALLEL.value,
        )
