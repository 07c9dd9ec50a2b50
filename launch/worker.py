# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Works for training programs, with the devices of this machine.

Two workers on this machine, and a program that uses them:

  python -m launch.worker --port=8001 &
  python -m launch.worker --port=8002 &
  python -m launch.train semifl --runtime=remote \
    --workers=localhost:8001,localhost:8002

Whoever reaches the port can run any code here. So it is for this machine alone,
unless --host says otherwise, and that needs the three --tls flags.
"""

import dataclasses
import os
import signal
import sys
import threading

from absl import flags
import tensorflow as tf

from launch import program
from launch import setting_program
from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiments import runtimes

_PORT = flags.DEFINE_integer(
  'port',
  None,
  'Port to listen at; 0 takes one that is free.',
  lower_bound=0,
  upper_bound=65535,
)
_HOST = flags.DEFINE_string(
  'host',
  '127.0.0.1',
  'Address of this machine to listen at; 0.0.0.0 for all of them.',
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkerSettings(settings.Settings):
  """How a worker works."""

  threads: runtimes.Threads = runtimes.Threads()
  tls: runtimes.TLSFiles = runtimes.TLSFiles()


def main(worker: WorkerSettings) -> None:
  """Works until it is told to end."""
  with program.blame(_PORT, ValueError):
    if _PORT.value is None:
      raise ValueError('say which, or 0 for one that is free')
  tls = worker.tls.read()
  worker.threads.limit()
  with (
    program.blame(_HOST, ValueError),
    program.blame(_PORT, OSError),
  ):
    server = runtime.Server(
      _PORT.value,
      host=_HOST.value,
      tls=tls,
      max_concurrent_clients=worker.threads.num_clients,
    )
  # Waits for SIGTERM, which ends it, and Ctrl-C, which does, too.
  ended = threading.Event()
  signal.signal(signal.SIGTERM, lambda number, frame: ended.set())
  # A background job of a shell script ignores it; programs that start workers
  # count on it.
  signal.signal(signal.SIGINT, signal.default_int_handler)
  print(
    f'ready at {server.address}, {"with" if tls else "without"} TLS, devices: '
    + ', '.join(
      device.name.removeprefix('/physical_device:')
      for device in tf.config.list_physical_devices()
    ),
    flush=True,
  )
  status = 0
  try:
    ended.wait()
  except KeyboardInterrupt:
    print('\ninterrupted', file=sys.stderr)
    status = 130
  server.stop()
  sys.stdout.flush()
  sys.stderr.flush()
  # Not `sys.exit`: it would wait for the client that is at work, and nobody
  # wants to know the result.
  os._exit(status)


if __name__ == '__main__':
  setting_program.run(
    'python -m launch.worker',
    __doc__,
    lambda changes: settings.change(WorkerSettings(), changes),
    main,
  )
