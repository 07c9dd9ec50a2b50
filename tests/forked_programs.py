# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs real programs in forks of a process that has imported TensorFlow.

A program takes seconds to import TensorFlow and TensorFlow Federated, as long
as many tests of what it prints take in all. Here one process imports them,
before they do anything, and each program is a fork of it, with its own modules,
flags, output, working directory and exit code. Tests of signals, kills, pipes
and of how programs start need `subprocess` and a process of their own.
"""

import atexit
from collections.abc import Sequence
import functools
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

_ROOT = pathlib.Path(__file__).parents[1]
_MODULE = 'tests.forked_programs'


def run(
  module: str,
  *arguments: str,
  timeout: float = 200,
  cores: Sequence[int] | None = None,
  without_variables: Sequence[str] = (),
) -> subprocess.CompletedProcess:
  """Runs `python -m module arguments` in the repository's root.

  Args:
    module: The program, `launch.plot` say.
    *arguments: What it is given.
    timeout: Seconds that it may take.
    cores: Those that it may use; by default all that this process may.
    without_variables: Of the environment, those that it does not have.

  Returns:
    Its exit code, output and errors, as text.

  Raises:
    subprocess.TimeoutExpired: If it takes longer; it is killed then.
  """
  command = [module, *map(str, arguments)]
  with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
    server, client = socket.socketpair()
    with server, client:
      request = json.dumps([command, cores, [*without_variables]]).encode()
      socket.send_fds(
        _server(),
        [request],
        [server.fileno(), output.fileno(), errors.fileno()],
      )
      server.close()
      client.settimeout(timeout)
      try:
        pid = int(client.recv(64))
      except (ValueError, TimeoutError) as error:
        raise RuntimeError('The process that forks is gone.') from error
      try:
        code = int(client.recv(64))
      except TimeoutError as error:
        os.kill(pid, 9)
        raise subprocess.TimeoutExpired(command, timeout) from error
    return subprocess.CompletedProcess(
      command, code, _read(output), _read(errors)
    )


def _read(file) -> str:
  file.seek(0)
  return file.read().decode()


@functools.cache
def _server() -> socket.socket:
  """Starts the process that forks, once for each process of tests."""
  ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
  process = subprocess.Popen(
    [sys.executable, '-m', _MODULE, str(its.fileno())],
    cwd=_ROOT,
    pass_fds=[its.fileno()],
    stdin=subprocess.DEVNULL,
    # Packages say things when they are imported.
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
  )
  its.close()

  @atexit.register
  def end() -> None:
    # It ends when nobody can ask for anything any more.
    ours.close()
    process.wait()

  return ours


def _serve(requests: socket.socket) -> None:
  """Forks for each request until there are no more."""
  while True:
    request, fds, _, _ = socket.recv_fds(requests, 1 << 20, 3)
    if not request:
      return
    # A fork that waits for the program leaves this process free for another.
    if os.fork() == 0:
      requests.close()
      command, cores, without_variables = json.loads(request)
      if cores is not None:
        os.sched_setaffinity(0, cores)
      for name in without_variables:
        os.environ.pop(name, None)
      os._exit(_run_one(command, *fds))
    for fd in fds:
      os.close(fd)
    _reap()


def _reap() -> None:
  try:
    while os.waitpid(-1, os.WNOHANG)[0]:
      pass
  except ChildProcessError:
    pass


def _run_one(command: list[str], reply: int, output: int, errors: int) -> int:
  """Runs a program in a fork of this fork, and replies with what it was."""
  pid = os.fork()
  if pid == 0:
    os.dup2(output, 1)
    os.dup2(errors, 2)
    for fd in (reply, output, errors):
      os.close(fd)
    os._exit(_run_module(*command))
  os.write(reply, str(pid).encode())
  _, status = os.waitpid(pid, 0)
  os.write(reply, str(os.waitstatus_to_exitcode(status)).encode())
  return 0


def _run_module(module: str, *arguments: str) -> int:
  """Runs a module as Python does, and returns its exit code."""
  import runpy
  import traceback

  sys.argv = [module, *arguments]
  code = 0
  try:
    runpy.run_module(module, run_name='__main__', alter_sys=True)
  except SystemExit as error:
    code = error.code or 0
    if not isinstance(code, int):
      print(code, file=sys.stderr)
      code = 1
  except BaseException:
    traceback.print_exc()
    code = 1
  atexit._run_exitfuncs()
  sys.stdout.flush()
  sys.stderr.flush()
  return code


def _main() -> None:
  import gc

  # What programs import that is not of this repository. None of it computes
  # anything: threads of TensorFlow would not be there in a fork.
  import keras_cv  # noqa: F401
  import matplotlib.figure  # noqa: F401
  import tensorflow_datasets  # noqa: F401
  import tensorflow_federated  # noqa: F401
  import tensorflow_privacy  # noqa: F401

  gc.collect()
  gc.freeze()
  with socket.socket(fileno=int(sys.argv[1])) as requests:
    _serve(requests)


if __name__ == '__main__':
  _main()
