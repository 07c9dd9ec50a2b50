# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The secret key that determines the noise and cohorts of a private run.

Differential privacy assumes that the noise is secret. Amplification by sampling
assumes that the cohorts are secret.
"""

import hashlib
import hmac
import os
import pathlib
import re
import secrets
import stat

from tff_semifl.files import durable_files

NUM_BYTES = 32


class PrivacyKey:
  """A secret of `NUM_BYTES` bytes, whose `repr` does not show it."""

  def __init__(self, secret: bytes):
    if len(secret) != NUM_BYTES:
      raise ValueError(f'a key has {NUM_BYTES} bytes, not {len(secret)}')
    self.secret = bytes(secret)

  @classmethod
  def draw(cls) -> 'PrivacyKey':
    """Draws a new key from the operating system's generator."""
    return cls(secrets.token_bytes(NUM_BYTES))

  @property
  def cohort_seed(self) -> int:
    """The seed of cohorts and dropouts, 0 to 2**256 - 1."""
    return int.from_bytes(self.derive('cohorts', 32), 'little')

  def derive(self, purpose: str, num_bytes: int) -> bytes:
    """Derives a key for one purpose, by BLAKE2b.

    The derived key reveals nothing about the keys for other purposes.
    """
    return hashlib.blake2b(
      key=self.secret, person=purpose.encode(), digest_size=num_bytes
    ).digest()

  def __eq__(self, other: object) -> bool:
    return isinstance(other, PrivacyKey) and hmac.compare_digest(
      self.secret, other.secret
    )

  def __repr__(self) -> str:
    return 'PrivacyKey(secret)'


NAME = 'privacy.key'
# Read and write permissions for the owner only.
_MODE = 0o600
# Part of the file format: changing this text makes older files invalid.
_WARNING = (
  "Secret: with this the noise of the experiment's differential privacy can be"
  ' subtracted. It goes when the experiment is complete.\n'
)


def read(path: pathlib.Path) -> PrivacyKey | None:
  """Reads a key; None if there is no file."""
  try:
    # Links are not followed, and opening a FIFO does not block.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
  except (FileNotFoundError, NotADirectoryError):
    return None
  except OSError as error:
    raise durable_files.OutputError(
      f'cannot read {path}, the secret key of the experiment: {error.strerror}'
    ) from error
  with open(descriptor, 'rb') as file:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
      raise durable_files.OutputError(f'{path} is no file; {_remedy(path)}')
    mode = stat.S_IMODE(status.st_mode)
    if mode & ~_MODE:
      raise durable_files.OutputError(
        f'{path} has mode {mode:o} and not {_MODE:o}: others may have read the'
        ' secret key. If somebody may have, train anew in another folder; if'
        f' nobody has, `chmod {_MODE:o} {path}`'
      )
    content = file.read(1000)
  match = re.search(rb'^[0-9a-f]{64}', content, re.MULTILINE)
  if match:
    key = PrivacyKey(bytes.fromhex(match[0].decode()))
    if content == _to_bytes(key):
      return key
  raise durable_files.OutputError(f'{path} is damaged; {_remedy(path)}')


def write(path: pathlib.Path, key: PrivacyKey) -> None:
  """Writes a key durably, to a file that only its owner can read."""
  with (
    durable_files.naming(path),
    durable_files.replacing(path, mode=_MODE) as file,
  ):
    # On file systems without permissions, anyone can read the file.
    mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    if mode & ~_MODE:
      raise durable_files.OutputError(
        f'{path} would be readable by others, with mode {mode:o}: this file'
        ' system keeps no permissions; choose another --output_dir'
      )
    file.write(_to_bytes(key))


def remove(path: pathlib.Path) -> None:
  """Removes a key file, and any partly written copy of the file.

  The content on the disk is not overwritten.
  """
  with durable_files.naming(path, 'remove it by hand'):
    durable_files.temporary_path(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    durable_files.sync(path.parent)


def _to_bytes(key: PrivacyKey) -> bytes:
  checksum = hashlib.blake2b(key.secret, digest_size=8).hexdigest()
  return f'{_WARNING}{key.secret.hex()} {checksum}\n'.encode()


def _remedy(path: pathlib.Path) -> str:
  return (
    f'put a good copy of {path} in its place, or train anew in another folder.'
    ' If all rounds were run, it is of no use any more: remove it'
  )
