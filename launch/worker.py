# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Runs computations of training programs, on the devices of this machine.

These commands start two workers on this machine, and a program that uses them:

  python -m launch.worker --port=8001 &
  python -m launch.worker --port=8002 &
  python -m launch.train semifl --runtime=remote \
    --workers=localhost:8001,localhost:8002

Anyone who can connect to the port can run any code on this machine. Therefore
the worker accepts only connections from this machine, unless --host gives
another address, which requires the three --tls flags.
"""

import dataclasses
import os
import signal
import sys
import threading

from absl import flags
import tensorflow as tf

from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiments import runtimes
from tff_semifl.launch import program
from tff_semifl.launch import setting_program

_PORT = flags.DEFINE_integer(
  'port',
  None,
  'Port to listen on; 0 chooses a free one.',
  lower_bound=0,
  upper_bound=65535,
)
_HOST = flags.DEFINE_string(
  'host',
  '127.0.0.1',
  'Address of this machine to listen on; 0.0.0.0 for all of its addresses.',
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkerSettings(settings.Settings):
  """Settings of a worker.

  Attributes:
    threads: Threads of operations, and clients at the same time.
    tls: Files for TLS.
  """

  threads: runtimes.Threads = runtimes.Threads()
  tls: runtimes.TLSFiles = runtimes.TLSFiles()


def main(worker: WorkerSettings) -> None:
  """Serves until a signal ends it.

  Args:
    worker: The settings.
  """
  with program.blame(_PORT, ValueError):
    if _PORT.value is None:
      raise ValueError('say which, or 0 for a free one')
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
  # SIGTERM and Ctrl-C end the worker.
  ended = threading.Event()
  signal.signal(signal.SIGTERM, lambda number, frame: ended.set())
  # Set explicitly, because a background job of a shell script ignores SIGINT,
  # and programs that start workers use it to end them.
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
  # Not `sys.exit`, which would wait for running computations, whose results are
  # not needed any more.
  os._exit(status)


if __name__ == '__main__':
  setting_program.run(
    'python -m launch.worker',
    __doc__,
    lambda changes: settings.change(WorkerSettings(), changes),
    main,
  )
