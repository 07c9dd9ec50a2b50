# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The settings of what runs the computations."""

import abc
from collections.abc import Iterator
import contextlib
import dataclasses
import os
from typing import ClassVar

import tensorflow as tf

from tff_semifl import runtime
from tff_semifl import settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class Threads(settings.Settings):
  """The shares of clients and operations in the cores of a process."""

  max_concurrent_clients: int | None = settings.setting(
    None,
    'Clients that work at the same time. By default one for each GPU, or one on'
    ' the CPU, but with --threads_per_operation as many as it leaves cores for;'
    ' no limit in a worker of TFF. Results do not depend on it.',
    settings.AT_LEAST_1,
  )
  threads_per_operation: int | None = settings.setting(
    None,
    'CPU threads that share the work of one operation. By default one for each'
    ' core. With 1 small models and small batches train faster, up to twice as'
    ' fast on two cores, large batches slower; and numbers do not depend on how'
    ' many cores there are, as their last digits otherwise do.',
    settings.AT_LEAST_1,
  )

  def limit(self) -> None:
    """Limits threads of operations, before TensorFlow is at work."""
    if self.threads_per_operation is not None:
      tf.config.threading.set_intra_op_parallelism_threads(
        self.threads_per_operation
      )
      # A worker of TFF reads it from here.
      os.environ['TF_NUM_INTRAOP_THREADS'] = str(self.threads_per_operation)

  @property
  def num_clients(self) -> int | None:
    """The number of clients that work at once in process; None for devices."""
    if (
      self.max_concurrent_clients is not None
      or self.threads_per_operation is None
      or tf.config.list_physical_devices('GPU')
    ):
      return self.max_concurrent_clients
    num_cores = len(os.sched_getaffinity(0))
    return max(1, num_cores // self.threads_per_operation)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TLSFiles(settings.Settings):
  """The certificates of a program and of those that it talks to."""

  tls_certificate: str | None = settings.setting(
    None,
    'PEM file of the certificate of this program, which the other end checks. A'
    " worker's names the addresses that it is known by.",
  )
  tls_key: str | None = settings.setting(
    None, 'PEM file of the private key of --tls_certificate.'
  )
  tls_certificate_authority: str | None = settings.setting(
    None,
    'PEM file of the certificate of the authority that has to have signed the'
    ' certificate of the other end.',
  )

  def read(self) -> runtime.Tls | None:
    """Reads the files.

    Returns:
      What they hold, None if none is given.

    Raises:
      settings.SettingError: If some are given but not all, or a file is of no
        use.
    """
    values = settings.as_dict(self)
    if all(value is None for value in values.values()):
      return None
    for name, value in values.items():
      if value is None:
        raise settings.SettingError(
          name,
          value,
          'is missing; certificate, key and authority go together',
        )
    with settings.blame(
      'tls_certificate', self.tls_certificate, OSError, ValueError
    ):
      certificate, key = runtime.read_certificate(
        self.tls_certificate, self.tls_key
      )
    with settings.blame(
      'tls_certificate_authority',
      self.tls_certificate_authority,
      OSError,
      ValueError,
    ):
      authority = runtime.read_authority(self.tls_certificate_authority)
    return runtime.Tls(certificate, key, authority)


class Runtime(settings.Settings, abc.ABC):
  """Base of what runs the computations.

  Attributes:
    by_index: Whether images are read from a file that it shares with its
      worker.
    has_xla: Whether it can compile with XLA.
  """

  by_index: ClassVar[bool] = False
  has_xla: ClassVar[bool] = True

  @abc.abstractmethod
  def context(self) -> contextlib.AbstractContextManager[None]:
    """Runs the computations called in the `with` block."""

  def check(self) -> None:
    """Checks its settings.

    Raises:
      settings.SettingError: If it cannot work with them.
    """

  def limit_threads(self) -> None:
    """Limits threads of operations, before TensorFlow is at work."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class _OnThisMachine(Runtime):
  """Base of those whose threads this program limits."""

  threads: Threads = Threads()

  def limit_threads(self) -> None:
    """Limits threads of operations, before TensorFlow is at work."""
    self.threads.limit()


@dataclasses.dataclass(frozen=True, kw_only=True)
class InProcess(_OnThisMachine):
  """The TensorFlow of this program."""

  def context(self) -> contextlib.AbstractContextManager[None]:
    """Runs the computations called in the `with` block."""
    return runtime.simulation_context(
      'in_process', max_concurrent_clients=self.threads.num_clients
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Native(_OnThisMachine):
  """A worker process of TFF's, on the CPU, a check on the others."""

  by_index = True
  has_xla = False

  def context(self) -> contextlib.AbstractContextManager[None]:
    """Runs the computations called in the `with` block."""
    return runtime.simulation_context(
      'native', max_concurrent_clients=self.threads.max_concurrent_clients
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Remote(Runtime):
  """Workers, here or on other machines."""

  workers: tuple[str, ...] = settings.setting(
    (),
    'Where the workers are, as host:port,host:port. Each is a launch.worker,'
    ' which is told --max_concurrent_clients and --threads_per_operation'
    " itself, or a worker of TFF's.",
  )
  worker_silence_seconds: float = settings.setting(
    60.0,
    'A worker that answers nothing for so long is lost: the others do its'
    ' work.',
    settings.at_least(1),
  )
  worker_call_seconds: float | None = settings.setting(
    None,
    'A worker that needs longer than this for its share of a round is lost,'
    ' even if it answers. By default it may take as long as it likes.',
    settings.at_least(1),
  )
  tls: TLSFiles = TLSFiles()

  def check(self) -> None:
    """Checks addresses and certificates."""
    with settings.blame('workers', self.workers):
      _check_addresses(self.workers)
    self.tls.read()

  @contextlib.contextmanager
  def context(self) -> Iterator[None]:
    """Runs the computations called in the `with` block.

    Raises:
      settings.SettingError: If no worker is there or left.
    """
    try:
      with runtime.simulation_context(
        'remote',
        workers=self.workers,
        silence_seconds=self.worker_silence_seconds,
        call_seconds=self.worker_call_seconds,
        tls=self.tls.read(),
      ):
        yield
    except runtime.WorkerError as error:
      raise settings.SettingError(
        'workers',
        self.workers,
        f'{error}; the same command goes on from the last complete round',
      ) from error


def _check_addresses(addresses: tuple[str, ...]) -> None:
  if not addresses:
    raise ValueError('--runtime=remote needs some, as host:port,host:port')
  if len(set(addresses)) < len(addresses):
    raise ValueError('one is there twice')
  for address in addresses:
    host, _, port = address.rpartition(':')
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
      raise ValueError(f'{address!r} is not host:port')


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChosenRuntime(settings.Settings):
  """The runtime."""

  runtime: Runtime = settings.choice(
    {'in_process': InProcess(), 'native': Native(), 'remote': Remote()},
    'in_process',
    'What runs the computations: in_process, the TensorFlow of this program;'
    " native, a worker process of TFF's, on the CPU, a check on the former;"
    ' remote, the --workers.',
  )
