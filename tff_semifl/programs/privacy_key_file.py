# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The file that keeps a private run's key for as long as it may be resumed."""

import hashlib
import os
import pathlib
import re
import stat

from tff_semifl import privacy_key
from tff_semifl.programs import durable_files

# In the folder of an experiment.
NAME = 'privacy.key'
# Read and write, for the owner alone.
_MODE = 0o600
_WARNING = (
  "Secret: with this the noise of the experiment's differential privacy can be"
  ' subtracted. It goes when the experiment is complete.\n'
)


def read(path: pathlib.Path) -> privacy_key.PrivacyKey | None:
  """Reads a key.

  Args:
    path: The file.

  Returns:
    The key, or None if there is no file.

  Raises:
    durable_files.OutputError: If it is damaged, cannot be read, or can be read
      by others than its owner.
  """
  try:
    # Another file would be opened through a link; a pipe would never open.
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
    # One byte more than there should be, to see whether there are.
    content = file.read(len(_to_bytes(privacy_key.PrivacyKey.draw())) + 1)
  match = re.search(rb'^[0-9a-f]{64}', content, re.MULTILINE)
  if match:
    key = privacy_key.PrivacyKey(bytes.fromhex(match[0].decode()))
    if content == _to_bytes(key):
      return key
  raise durable_files.OutputError(f'{path} is damaged; {_remedy(path)}')


def write(path: pathlib.Path, key: privacy_key.PrivacyKey) -> None:
  """Writes a key; when this returns it is on the disk, as a whole.

  It is readable by its owner alone from the first moment on.

  Args:
    path: The file, in a folder that is there.
    key: The key.

  Raises:
    durable_files.OutputError: If it cannot be written, or not so that others
      cannot read it.
  """
  with (
    durable_files.naming(path),
    durable_files.replacing(path, mode=_MODE) as file,
  ):
    # There are file systems on which everybody may read everything.
    mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    if mode & ~_MODE:
      raise durable_files.OutputError(
        f'{path} would be readable by others, with mode {mode:o}: this file'
        ' system keeps no permissions; choose another --output_dir'
      )
    file.write(_to_bytes(key))


def remove(path: pathlib.Path) -> None:
  """Removes a key, and what a kill left of it, if they are there.

  What the disk still has of a file that was removed is not overwritten.

  Args:
    path: The file.

  Raises:
    durable_files.OutputError: If it cannot be removed.
  """
  with durable_files.naming(path, 'remove it by hand'):
    durable_files.temporary_path(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    durable_files.sync(path.parent)


def _to_bytes(key: privacy_key.PrivacyKey) -> bytes:
  checksum = hashlib.blake2b(key.secret, digest_size=8).hexdigest()
  return f'{_WARNING}{key.secret.hex()} {checksum}\n'.encode()


def _remedy(path: pathlib.Path) -> str:
  return (
    f'put a good copy of {path} in its place, or train anew in another folder.'
    ' If all rounds were run, it is of no use any more: remove it'
  )
