# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs real programs in forks of a process that has imported TensorFlow.

A program takes seconds to import TensorFlow and TensorFlow Federated, as long
as many tests of its output in total. Here one process imports both, before they
compute anything, and each program is a fork of this process, with its own
flags, output, working directory, signals and exit code. Tests of how programs
start need `subprocess`.
"""

import atexit
from collections.abc import Callable, Mapping, Sequence
import contextlib
import functools
import json
import os
import pathlib
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import types
from typing import IO, Any

_ROOT = pathlib.Path(__file__).parents[1]
_MODULE = 'tests.forked_programs'


def wait_until(condition: Callable[[], object], seconds: float = 100) -> None:
  """Waits until a condition is true, or raises an error after some seconds."""
  deadline = time.monotonic() + seconds
  while not condition():
    if time.monotonic() > deadline:
      raise AssertionError(f'Did not come true in {seconds} seconds.')
    time.sleep(0.02)


class Program:
  """A program that runs, or ran, in a fork."""

  def __init__(self, command: Sequence[str], replies: socket.socket):
    self._command = command
    self._replies = replies
    self._code = None
    self.pid = self._receive(100)

  def _receive(self, timeout: float) -> int:
    self._replies.settimeout(timeout)
    try:
      return int(self._replies.recv(64))
    except ValueError as error:
      raise RuntimeError('The process that forks is gone.') from error

  def poll(self) -> int | None:
    """The exit code; None if the program still runs."""
    try:
      return self.wait(0.001)
    except subprocess.TimeoutExpired:
      return None

  def wait(self, timeout: float = 200) -> int:
    """Waits until the program ends; returns the exit code.

    The code is -9 if signal 9 ended the program.
    """
    if self._code is None:
      try:
        self._code = self._receive(timeout)
      except TimeoutError as error:
        raise subprocess.TimeoutExpired(self._command, timeout) from error
    return self._code

  def send_signal(self, number: int) -> None:
    """Sends a signal to the program, if still running."""
    if self.poll() is None:
      os.kill(self.pid, number)

  def kill(self) -> None:
    """Kills the program, if still running."""
    self.send_signal(signal.SIGKILL)


def start(
  module: str,
  *arguments: str,
  stdout: int | IO,
  stderr: int | IO,
  new_session: bool = False,
  cores: Sequence[int] | None = None,
  max_file_size: int | None = None,
  variables: Mapping[str, str | None] = types.MappingProxyType({}),
) -> Program:
  """Starts `python -m module arguments` in the repository's root.

  The program is killed when this process ends. `variables` are changes of the
  environment; None removes a variable, and modules can be imported from folders
  of PYTHONPATH.
  """
  command = [module, *map(str, arguments)]
  request = json.dumps(
    [command, new_session, cores, max_file_size, {**variables}]
  ).encode()
  ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
  with theirs:
    files = [f if isinstance(f, int) else f.fileno() for f in (stdout, stderr)]
    socket.send_fds(_server(), [request], [theirs.fileno(), *files])
  return Program(command, ours)


def run(
  module: str, *arguments: str, timeout: float = 200, **options: Any
) -> subprocess.CompletedProcess:
  """Runs `python -m module arguments` in the repository's root.

  `options` are as for `start`. The program is killed after `timeout` seconds.
  """
  with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
    program = start(module, *arguments, stdout=output, stderr=errors, **options)
    try:
      code = program.wait(timeout)
    except subprocess.TimeoutExpired:
      program.kill()
      raise
    return subprocess.CompletedProcess(
      [module, *arguments], code, _read(output), _read(errors)
    )


def _read(file) -> str:
  file.seek(0)
  return file.read().decode()


@functools.cache
def _server() -> socket.socket:
  """Starts the forking process, once for each process of tests."""
  ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
  process = subprocess.Popen(
    [sys.executable, '-m', _MODULE, str(its.fileno())],
    cwd=_ROOT,
    pass_fds=[its.fileno()],
    stdin=subprocess.DEVNULL,
    # Some packages print lines on import.
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
  )
  its.close()

  @atexit.register
  def end() -> None:
    # The server ends when no process can send requests.
    ours.close()
    process.wait()

  return ours


def _serve(requests: socket.socket) -> None:
  """Forks for each request, until no requests can come."""
  while True:
    request, fds, _, _ = socket.recv_fds(requests, 1 << 20, 3)
    if not request:
      return
    # A fork that waits for the program leaves this process free for other
    # requests.
    if os.fork() == 0:
      requests.close()
      os._exit(_run_one(*json.loads(request), *fds))
    for fd in fds:
      os.close(fd)
    _reap()


def _reap() -> None:
  try:
    while os.waitpid(-1, os.WNOHANG)[0]:
      pass
  except ChildProcessError:
    pass


def _run_one(
  command: list[str],
  new_session: bool,
  cores: list[int] | None,
  max_file_size: int | None,
  variables: dict[str, str | None],
  reply: int,
  output: int,
  errors: int,
) -> int:
  """Runs a program in a further fork, and replies with its exit code."""
  pid = os.fork()
  if pid == 0:
    if new_session:
      os.setsid()
    if cores is not None:
      os.sched_setaffinity(0, cores)
    if max_file_size is not None:
      limit = (max_file_size, max_file_size)
      resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    for name, value in variables.items():
      if value is None:
        os.environ.pop(name, None)
      else:
        os.environ[name] = value
    sys.path[1:1] = filter(None, variables.get('PYTHONPATH', '').split(':'))
    # Tests may run in a background job, which ignores the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(output, 1)
    os.dup2(errors, 2)
    for fd in (reply, output, errors):
      os.close(fd)
    os._exit(_run_module(*command))
  # The guard survives the end of its process group, and ends the program.
  for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
  os.close(output)
  os.close(errors)
  os.write(reply, str(pid).encode())
  # The other end of `reply` is closed when the test has ended.
  ended = os.pidfd_open(pid)
  ready, _, _ = select.select([ended, reply], [], [])
  if ended not in ready:
    os.kill(pid, signal.SIGKILL)
  _, status = os.waitpid(pid, 0)
  with contextlib.suppress(BrokenPipeError):
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

  # As in `launch`, before any library of a test: TensorFlow reads the variable
  # on import.
  os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
  gc.disable()

  # The imports of programs. None computes anything: threads of TensorFlow would
  # not exist in a fork.
  import keras_cv  # noqa: F401
  import matplotlib.figure  # noqa: F401
  import tensorflow_datasets  # noqa: F401
  import tensorflow_federated  # noqa: F401
  import tensorflow_privacy  # noqa: F401

  # The library, which has no flags.
  import tff_semifl.experiment.command  # noqa: F401

  gc.enable()
  gc.collect()
  gc.freeze()
  with socket.socket(fileno=int(sys.argv[1])) as requests:
    _serve(requests)


if __name__ == '__main__':
  _main()
