# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags that say where a sweep trains, and how many runs at a time."""

from collections.abc import Iterator
import contextlib

from absl import flags

from tff_semifl import runtime
from tff_semifl.command_line import program
from tff_semifl.sweeps import processes

_PARALLEL = flags.DEFINE_integer(
  'parallel',
  None,
  'Number of runs at the same time, by default 1. Each uses all cores and the'
  ' same GPUs, and has its own memory: choose more than one only on a machine'
  ' that one run does not keep busy. With --cluster, the most at a time, by'
  ' default as many as it has room for.',
  lower_bound=1,
)
_CLUSTER = flags.DEFINE_string(
  'cluster',
  None,
  'Ray cluster whose machines train the runs, as host:port; auto for the one'
  ' that this machine belongs to; local for one of this machine alone, whose'
  ' runs have a share of its CPUs and GPUs each. By default runs are processes'
  ' of this machine.',
)
_CPUS_PER_RUN = flags.DEFINE_float(
  'cpus_per_run',
  None,
  'With --cluster, CPU cores of each run, which decide how many a machine'
  ' trains at a time. By default as many as the machine has that has the'
  ' fewest.',
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
  """Makes the place where runs are trained.

  Args:
    num_runs: How many there are to train; without any no cluster is started.

  Raises:
    program.FlagError: If that cannot be had, or cannot train.
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
