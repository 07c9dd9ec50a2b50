# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags that workers and those who use workers have in common."""

import os

from absl import flags
import tensorflow as tf

from launch import program
from tff_semifl import runtime

MAX_CONCURRENT_CLIENTS = flags.DEFINE_integer(
  'max_concurrent_clients',
  None,
  'Clients that work at the same time. By default, in process and in'
  ' launch.worker, one for each GPU, or one on the CPU, but with'
  ' --threads_per_operation as many as it leaves cores for; no limit in a'
  ' worker of TFF. Results do not depend on it.',
  lower_bound=1,
)
THREADS_PER_OPERATION = flags.DEFINE_integer(
  'threads_per_operation',
  None,
  'CPU threads that share the work of one operation. By default one for each'
  ' core. With 1 small models and small batches train faster, up to twice as'
  ' fast on two cores, large batches slower; and numbers do not depend on how'
  ' many cores there are, as their last digits otherwise do.',
  lower_bound=1,
)
TLS_CERTIFICATE = flags.DEFINE_string(
  'tls_certificate',
  None,
  'PEM file of the certificate of this program, which the other end checks. A'
  " worker's names the addresses that it is known by.",
)
TLS_KEY = flags.DEFINE_string(
  'tls_key', None, 'PEM file of the private key of --tls_certificate.'
)
TLS_CERTIFICATE_AUTHORITY = flags.DEFINE_string(
  'tls_certificate_authority',
  None,
  'PEM file of the certificate of whoever has to have signed the certificate of'
  ' the other end.',
)
TLS_FLAGS = (TLS_CERTIFICATE, TLS_KEY, TLS_CERTIFICATE_AUTHORITY)


def limit_threads() -> None:
  """Does what --threads_per_operation says, before TensorFlow is at work."""
  if THREADS_PER_OPERATION.value is not None:
    tf.config.threading.set_intra_op_parallelism_threads(
      THREADS_PER_OPERATION.value
    )
    # A worker of TFF reads it from here.
    os.environ['TF_NUM_INTRAOP_THREADS'] = str(THREADS_PER_OPERATION.value)


def max_concurrent_clients() -> int | None:
  """Returns how many clients may work at once in process, None for devices."""
  if (
    MAX_CONCURRENT_CLIENTS.value is not None
    or THREADS_PER_OPERATION.value is None
    or tf.config.list_physical_devices('GPU')
  ):
    return MAX_CONCURRENT_CLIENTS.value
  num_cores = len(os.sched_getaffinity(0))
  return max(1, num_cores // THREADS_PER_OPERATION.value)


def read_tls() -> runtime.Tls | None:
  """Reads the files that the flags name.

  Returns:
    What they hold, None if no flag is given.

  Raises:
    program.FlagError: If some are given but not all, or a file is of no use.
  """
  if all(flag.value is None for flag in TLS_FLAGS):
    return None
  for flag in TLS_FLAGS:
    with program.blame(flag, ValueError):
      if flag.value is None:
        raise ValueError(
          'is missing; certificate, key and authority go together'
        )
  with program.blame(TLS_CERTIFICATE, OSError, ValueError):
    certificate, key = runtime.read_certificate(
      TLS_CERTIFICATE.value, TLS_KEY.value
    )
  with program.blame(TLS_CERTIFICATE_AUTHORITY, OSError, ValueError):
    authority = runtime.read_authority(TLS_CERTIFICATE_AUTHORITY.value)
  return runtime.Tls(certificate, key, authority)
