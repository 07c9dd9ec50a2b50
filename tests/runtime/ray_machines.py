# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Ray clusters for tests, whose machines are local processes."""

from collections.abc import Callable, Iterator
import contextlib
import itertools
import os
import tempfile
import time

import grpc
import psutil
import requests

from tff_semifl.runtime.ray import options as ray_options

ray_options.prepare(is_local=True)
assert os.environ.get('RAY_AUTH_MODE') == 'token', 'Ray was imported before.'

# Imported after the environment of programs is set.
import ray  # noqa: E402
from ray import cluster_utils  # noqa: E402
from ray._private import node  # noqa: E402
from ray._private import services  # noqa: E402

_LOOPBACK = '127.0.0.1'
# A method of each kind of server.
_METHODS = (
  'NodeInfoGcsService/GetClusterId',
  'NodeManagerService/GetNodeStats',
  'ObjectManagerService/FreeObjects',
  'CoreWorkerService/GetCoreWorkerStats',
)
_MACHINE = {'object_store_memory': 10**8, 'include_dashboard': False}


@contextlib.contextmanager
def local_cluster(num_cpus: int) -> Iterator[None]:
  """Connects this process to a new cluster."""
  with tempfile.TemporaryDirectory(prefix='ray_') as folder:
    ray.init(
      'local',
      num_cpus=num_cpus,
      include_dashboard=False,
      object_store_memory=10**8,
      log_to_driver=False,
      configure_logging=False,
      logging_level='error',
      _node_ip_address=_LOOPBACK,
      # Other users of this machine may have clusters.
      _temp_dir=folder,
    )
    try:
      yield
    finally:
      ray.shutdown()


class Machines:
  """A cluster whose machines can be added and killed."""

  def __init__(self):
    """Starts the head, which has no CPU for clients."""
    # Other users of this machine may have clusters.
    self._folder = tempfile.TemporaryDirectory(prefix='ray_')
    self._cluster = cluster_utils.Cluster(
      initialize_head=True,
      head_node_args={
        'num_cpus': 0,
        'temp_dir': self._folder.name,
        # No machines can be added.
        'no_monitor': True,
        **_MACHINE,
      },
    )
    self.address = self._cluster.address
    self._addresses = (f'127.0.0.{number}' for number in itertools.count(2))

  def add(self, number: int) -> list[node.Node]:
    """Adds machines with one CPU each."""
    added = [
      self._cluster.add_node(
        wait=False, num_cpus=1, node_ip_address=self.new_address(), **_MACHINE
      )
      for _ in range(number)
    ]
    self._cluster.wait_for_nodes()
    self._be_head()
    return added

  def new_address(self) -> str:
    """An unused address of this machine."""
    return next(self._addresses)

  def has(self, ip_address: str) -> bool:
    """Whether a machine, started elsewhere, is in the cluster."""
    found = any(
      each['Alive'] and each['NodeManagerAddress'] == ip_address
      for each in self._cluster.global_state.node_table()
    )
    if found:
      self._be_head()
    return found

  def processes(self) -> list[int]:
    """All processes of the machines, except processes of sites."""
    nodes = [self._cluster.head_node, *self._cluster.worker_nodes]
    pids = [
      info.process.pid
      for each in nodes
      for infos in each.all_processes.values()
      for info in infos
    ]
    return [*pids, *(child.pid for pid in pids for child in _children(pid))]

  def _be_head(self) -> None:
    # Programs assume to be on the machine that was started last here.
    head = self._cluster.head_node
    services.write_node_ip_address(
      head.get_session_dir_path(), head.node_ip_address
    )

  def kill(self, machine: node.Node) -> None:
    """Kills all processes of a machine."""
    self._cluster.remove_node(machine, allow_graceful=False)

  def stop(self) -> None:
    """Ends the cluster."""
    ray.shutdown()
    self._cluster.shutdown()
    self._folder.cleanup()


def variables() -> dict[str, str]:
  """The environment with which a program can join a cluster."""
  return {k: v for k, v in os.environ.items() if k.startswith('RAY_')}


def is_refused_without_token(ip: str, port: int) -> bool:
  """Whether a server of Ray rejects a caller without a token."""
  codes = set()
  with grpc.insecure_channel(f'{ip}:{port}') as channel:
    for method in _METHODS:
      try:
        channel.unary_unary(f'/ray.rpc.{method}')(b'', timeout=20)
        return False
      except grpc.RpcError as error:
        codes.add(error.code())
  if grpc.StatusCode.UNAVAILABLE not in codes:
    # A server without the method says so to any caller.
    return codes == {
      grpc.StatusCode.UNAUTHENTICATED,
      grpc.StatusCode.UNIMPLEMENTED,
    }
  return requests.get(f'http://{ip}:{port}/', timeout=20).status_code == (
    requests.codes.unauthorized
  )


def ask_the_dead(actor: ray.actor.ActorHandle) -> ray.ObjectRef:
  """Kills an actor; returns the reference to an answer that never comes."""
  ray.kill(actor)
  while True:
    reference = actor.ping.remote()
    try:
      ray.get(reference)
    except ray.exceptions.RayActorError:
      return reference


def actors(parent: int | None = None) -> list[psutil.Process]:
  """The processes in which clients run."""
  found = []
  for process in _children(parent):
    with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
      # Ray names processes by their purpose.
      if process.cmdline()[:1] and process.cmdline()[0].startswith(
        'ray::Actor'
      ):
        found.append(process)
  return found


def _children(pid: int | None) -> list[psutil.Process]:
  return psutil.Process(pid).children(recursive=True)


def wait_until(condition: Callable[[], object], seconds: float = 120) -> None:
  """Waits until a function returns true."""
  deadline = time.monotonic() + seconds
  while not condition():
    if time.monotonic() > deadline:
      raise AssertionError(f'Did not come true in {seconds} seconds.')
    time.sleep(0.05)
