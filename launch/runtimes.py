# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What runs the computations, as the flags say."""

from collections.abc import Iterator
import contextlib

from launch import program
from launch import run_flags
from launch import worker_flags
from tff_semifl import runtime


def check_flags() -> None:
  """Checks the flags, before anything else is done, and limits threads.

  Raises:
    program.FlagError: If they do not go together, or a certificate is of no
      use.
  """
  _resolve()
  worker_flags.limit_threads()


@contextlib.contextmanager
def simulation_context() -> Iterator[None]:
  """Runs the computations called in the `with` block.

  Raises:
    program.FlagError: If the flags do not go together, or no worker is there or
      left.
  """
  options = _resolve()
  try:
    with runtime.simulation_context(run_flags.RUNTIME.value, **options):
      yield
  except runtime.WorkerError as error:
    if run_flags.RUNTIME.value != 'remote':
      raise
    raise program.FlagError(
      f'flag --workers={",".join(run_flags.WORKERS.value)}: {error}; the same'
      ' command goes on from the last complete round'
    ) from error


def _resolve():
  """Returns the arguments of the context."""
  is_remote = run_flags.RUNTIME.value == 'remote'
  for_remote = {'is_used': is_remote, 'no_use': 'is for --runtime=remote'}
  workers = program.resolve(run_flags.WORKERS, (), **for_remote)
  silence_seconds = program.resolve(
    run_flags.WORKER_SILENCE_SECONDS, 60, **for_remote
  )
  call_seconds = program.resolve(
    run_flags.WORKER_CALL_SECONDS, None, **for_remote
  )
  for flag in worker_flags.TLS_FLAGS:
    program.resolve(flag, None, **for_remote)
  for flag in (
    worker_flags.MAX_CONCURRENT_CLIENTS,
    worker_flags.THREADS_PER_OPERATION,
  ):
    program.resolve(
      flag,
      None,
      is_used=not is_remote,
      no_use='is for each launch.worker to know with --runtime=remote',
    )
  if run_flags.RUNTIME.value == 'native':
    return {'max_concurrent_clients': worker_flags.MAX_CONCURRENT_CLIENTS.value}
  if not is_remote:
    return {'max_concurrent_clients': worker_flags.max_concurrent_clients()}
  with program.blame(run_flags.WORKERS, ValueError):
    _check_addresses(workers)
  return {
    'workers': workers,
    'silence_seconds': silence_seconds,
    'call_seconds': call_seconds,
    'tls': worker_flags.read_tls(),
  }


def _check_addresses(addresses):
  if not addresses:
    raise ValueError('--runtime=remote needs some, as host:port,host:port')
  if len(set(addresses)) < len(addresses):
    raise ValueError('one is there twice')
  for address in addresses:
    host, _, port = address.rpartition(':')
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
      raise ValueError(f'{address!r} is not host:port')
