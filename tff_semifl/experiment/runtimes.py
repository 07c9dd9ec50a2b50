# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The choice of the runtime, and runtimes in other processes."""

from collections.abc import Iterator
import contextlib
import dataclasses
import os

import tensorflow_federated as tff

from tff_semifl import private_api
from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiment import local_runtime
from tff_semifl.runtime import sites
from tff_semifl.runtime.ray import options as ray_options

_RESUMES = 'the same command goes on from the last complete round'


@contextlib.contextmanager
def native_context(max_concurrent_clients: int | None = None) -> Iterator[None]:
  """Runs computations of the `with` block on TFF's own worker, on the CPU.

  The worker accepts connections from any machine.
  """
  former = tff.framework.get_context_stack().current
  serialization = private_api.value_serialization
  read = serialization.deserialize_value

  # TFF also calls this function for the parts of a value.
  def read_no_clients(proto, type_hint=None):
    # TFF raises an error if there are no clients.
    if (
      isinstance(type_hint, tff.FederatedType)
      and type_hint.placement is tff.CLIENTS
      and not (type_hint.all_equal or proto.federated.value)
    ):
      return [], type_hint
    return read(proto, type_hint)

  tff.backends.native.set_sync_local_cpp_execution_context(
    max_concurrent_computation_calls=max_concurrent_clients or -1
  )
  serialization.deserialize_value = read_no_clients
  try:
    yield
  finally:
    serialization.deserialize_value = read
    runtime.replace_context(former)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Native(local_runtime.Runtime):
  """TFF's worker process, to check the other runtimes."""

  def context(
    self, federation: sites.Federation | None = None
  ) -> contextlib.AbstractContextManager[None]:
    del federation  # This runtime has no sites.
    if self.threads.threads_per_operation is not None:
      os.environ[local_runtime.THREADS_VARIABLE] = str(
        self.threads.threads_per_operation
      )
    return native_context(self.threads.max_concurrent_clients)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ray(local_runtime.Runtime):
  """Processes of a Ray cluster, here or on other machines."""

  ray_address: str | None = settings.setting(
    None,
    'The Ray cluster to join, as host:port, or auto for the cluster of this'
    ' machine. By default the program starts its own cluster on this machine.',
  )
  gpus_per_client: float = settings.setting(
    1.0,
    'GPUs for each working client; with 0.5 two clients share a GPU. Without'
    ' GPUs, a client has the cores of --threads_per_operation.',
    settings.ABOVE_0,
  )
  actor_silence_seconds: float = settings.setting(
    60.0,
    'Seconds without an answer after which a process counts as lost, and other'
    ' processes repeat its work.',
    settings.at_least(1),
  )
  client_seconds: float | None = settings.setting(
    None,
    'Seconds for one client after which a process counts as lost, even if it'
    ' answers. By default no limit.',
    settings.at_least(1),
  )

  @property
  def has_sites(self) -> bool:
    """Whether an existing cluster is joined; a new cluster has no sites."""
    return self.ray_address is not None

  def check(self) -> None:
    with settings.blame('runtime', 'ray', runtime.WorkerError):
      ray_options.check_installed()
    gpus = self.gpus_per_client
    if gpus > 1 and not gpus.is_integer():
      raise settings.SettingError(
        'gpus_per_client', gpus, 'more than one GPU must be a whole number'
      )

  @contextlib.contextmanager
  def context(
    self, federation: sites.Federation | None = None
  ) -> Iterator[None]:
    try:
      with runtime.simulation_context(
        max_concurrent_clients=self.threads.max_concurrent_clients,
        ray=runtime.RayOptions(
          address=self.ray_address,
          threads_per_operation=self.threads.threads_per_operation,
          gpus_per_client=self.gpus_per_client,
          silence_seconds=self.actor_silence_seconds,
          client_seconds=self.client_seconds,
          federation=federation,
        ),
      ):
        yield
    except runtime.SiteError as error:
      raise settings.SettingError(
        'sites', federation.names, f'{error}; {_RESUMES}'
      ) from error
    except (runtime.NotPortableError, runtime.WorkerError) as error:
      raise settings.SettingError(
        'runtime', 'ray', f'{error}; {_RESUMES}'
      ) from error


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChosenRuntime(settings.Settings):
  """The choice of the runtime."""

  runtime: local_runtime.Runtime = settings.choice(
    {'in_process': local_runtime.InProcess(), 'native': Native(), 'ray': Ray()},
    'in_process',
    'Runtime of the computations: in_process, the TensorFlow of this program;'
    ' ray, processes of a Ray cluster, on this machine or many machines;'
    " native, TFF's worker process on the CPU, to check the other runtimes,"
    ' with at most 100 MiB of images for the server and for each client.',
  )
