# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Joins this machine to a Ray cluster as a site."""

import json
import os
import subprocess
import sys
import tempfile
import threading

from tff_semifl.runtime import errors
from tff_semifl.runtime import tied_process
from tff_semifl.runtime.ray import environment as ray_environment
from tff_semifl.runtime.ray import placement as ray_placement
from tff_semifl.runtime.ray import site as ray_site

_STOP_SECONDS = 10


def check_cluster(address: str) -> None:
  """Checks that the cluster at host:port exists and requires a token."""
  ray_environment.prepare(is_local=False)
  # TLS does not suffice: Ray's port for packages of programs has none.
  if os.environ.get('RAY_AUTH_MODE') != 'token':
    raise errors.WorkerError(
      'whoever reaches this machine could read its images: have all machines of'
      ' the cluster use a token, RAY_AUTH_MODE=token, beside TLS'
      ' (docs/cluster.md)'
    )
  # Importing Ray takes a second.
  from tff_semifl.runtime.ray import cluster as ray_cluster

  ray_cluster.check_address(address)


def print_lines(name: str) -> str:
  """A file whose lines are printed, each after the name of the site.

  Other processes of this user can open its path.
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
  """Joins the cluster at host:port, until this thread is interrupted.

  By default, the others reach this machine at the address of the interface that
  reaches the cluster.
  """
  resource = f'{ray_placement.SITE_RESOURCE}{here.description.name}'
  command = [
    *(sys.executable, '-m', 'ray.scripts.scripts', 'start', '--block'),
    f'--address={address}',
    f'--resources={json.dumps({resource: 1})}',
    # Only tasks for this site run here.
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
      # Ctrl-C goes to this process, which ends Ray in order.
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
