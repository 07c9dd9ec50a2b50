# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A site's part of a Ray cluster: to be one of its machines."""

import json
import os
import subprocess
import sys
import tempfile
import threading

from tff_semifl.runtime import errors
from tff_semifl.runtime import ray_environment
from tff_semifl.runtime import ray_placement
from tff_semifl.runtime import ray_site
from tff_semifl.runtime import tied_process

_STOP_SECONDS = 10


def check_cluster(address: str) -> None:
  """Checks that there is a cluster, to which not everybody may speak.

  Args:
    address: The cluster, as host:port.

  Raises:
    errors.WorkerError: Ray is not installed, no token is asked for, or
      nobody is there.
  """
  ray_environment.prepare(is_local=False)
  # Certificates do not suffice: one port of Ray's, by which programs get their
  # packages, has no TLS.
  if os.environ.get('RAY_AUTH_MODE') != 'token':
    raise errors.WorkerError(
      'whoever reaches this machine could read its images: have all machines of'
      ' the cluster use a token, RAY_AUTH_MODE=token, beside TLS'
      ' (docs/cluster.md)'
    )
  # It takes a second to import.
  from tff_semifl.runtime import ray_cluster

  ray_cluster.check_address(address)


def print_lines(name: str) -> str:
  """Prints the lines that processes of this site write to a file.

  Args:
    name: The name of the site, with which lines begin.

  Returns:
    The file, as other processes of this user can open it.
  """
  reader, writer = os.pipe()

  def pass_on():
    with open(reader) as lines:
      for line in lines:
        print(f'{name} {line}', end='', flush=True)

  threading.Thread(target=pass_on, daemon=True).start()
  return f'/proc/{os.getpid()}/fd/{writer}'


def join(
  address: str, here: ray_site.Site, node_ip_address: str | None = None
) -> None:
  """Is a machine of a cluster, until this thread is interrupted.

  Args:
    address: The cluster, as host:port.
    here: The site.
    node_ip_address: Address of this machine that the others reach; by default
      that of the interface by which it reaches them.

  Raises:
    errors.WorkerError: The cluster is no longer there.
  """
  resource = f'{ray_placement.SITE_RESOURCE}{here.description.name}'
  command = [
    *(sys.executable, '-m', 'ray.scripts.scripts', 'start', '--block'),
    f'--address={address}',
    f'--resources={json.dumps({resource: 1})}',
    # Nobody else is to work here.
    '--num-cpus=0',
    '--disable-usage-stats',
  ]
  if node_ip_address is not None:
    command.append(f'--node-ip-address={node_ip_address}')
  with tempfile.TemporaryFile('w+') as log:
    process = subprocess.Popen(
      tied_process.tied_command(command),
      env={**os.environ, **here.variables()},
      stdin=subprocess.DEVNULL,
      stdout=log,
      stderr=log,
      # Ctrl-C is for this process, which ends the other in order.
      start_new_session=True,
    )
    try:
      process.wait()
    finally:
      process.terminate()
      try:
        process.wait(_STOP_SECONDS)
      except subprocess.TimeoutExpired:
        process.kill()
    log.seek(0)
    lines = log.read().strip().splitlines() or ['']
    raise errors.WorkerError(
      f'this machine is no longer in the cluster: {lines[-1].strip()}'
    )
