# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A driver and a worker in networks of their own, joined by a cable.

As far as the network can tell, two machines. To be run as `unshare -rn python
-m tests.runtime.two_networks DRIVER_CERTIFICATE DRIVER_KEY WORKER_CERTIFICATE
WORKER_KEY AUTHORITY`; prints a sum that the worker has computed.
"""

import contextlib
import subprocess
import sys
import time

import numpy as np
import tensorflow_federated as tff

from tests.runtime import worker_processes
from tff_semifl import runtime

_DRIVER = '10.9.0.1'
WORKER = '10.9.0.2'


@tff.federated_computation(tff.FederatedType(np.int32, tff.CLIENTS))
def _sum(numbers):
  return tff.federated_sum(numbers)


def _run(command):
  subprocess.run(command.split(), check=True)


def main(driver_certificate, driver_key, certificate, key, authority):
  """Runs the program."""
  worker = worker_processes.WorkerProcess(
    '--port=8001',
    f'--host={WORKER}',
    f'--tls_certificate={certificate}',
    f'--tls_key={key}',
    f'--tls_certificate_authority={authority}',
    # It has a network from now on, and starts when that has an address.
    prefix=['unshare', '-n', 'sh', '-c', 'read line; exec "$@"', '-'],
  )
  with contextlib.ExitStack() as stack:
    stack.callback(worker.stop)
    time.sleep(0.5)
    enter = f'nsenter -t {worker.process.pid} -n'
    _run(f'ip link add near type veth peer name far netns {worker.process.pid}')
    _run(f'ip address add {_DRIVER}/24 dev near')
    _run('ip link set near up')
    _run(f'{enter} ip address add {WORKER}/24 dev far')
    _run(f'{enter} ip link set far up')
    worker.process.stdin.write(b'go\n')
    worker.process.stdin.flush()
    tls = runtime.Tls(
      *runtime.read_certificate(driver_certificate, driver_key),
      runtime.read_authority(authority),
    )
    with runtime.simulation_context(
      'remote', workers=[worker.address], tls=tls
    ):
      print(f'{worker.address}: {_sum([1, 2, 3])}')


if __name__ == '__main__':
  main(*sys.argv[1:])
