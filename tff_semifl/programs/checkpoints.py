# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Checkpoints that are whole, or known not to be.

TFF's manager writes and reads them, as SavedModels. What is added here: a
version is flushed to the disk before it takes its place, brings the checksums
of its files along, and is not read unless they are right.
"""

from collections.abc import Sequence
import hashlib
import pathlib
import shutil
from typing import Any

from absl import logging
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.programs import durable_files

# In the format of the program of that name: `sha256sum -c SHA256SUMS`.
_CHECKSUMS = 'SHA256SUMS'
_PREFIX = 'program_state_'


class Checkpoints(tff.program.ProgramStateManager):
  """The last versions of a program's state: `<folder>/program_state_<version>`.

  Each is written in a folder beside them, `unfinished`, and moved when it is
  complete; what is to go is moved there before it is removed. So a kill leaves
  nothing but whole versions, and rubbish in `unfinished`.
  """

  def __init__(self, folder: pathlib.Path, *, num_kept: int):
    """Makes the folder, if need be, and removes what a kill left in it.

    Args:
      folder: Where the checkpoints are, or will be.
      num_kept: How many of them to keep.

    Raises:
      durable_files.OutputError: If the folder cannot be written to.
    """
    self._folder = folder
    self._unfinished = folder / 'unfinished'
    self._num_kept = num_kept
    with durable_files.naming(folder):
      # 0 is any number: old ones are removed here, when the new one is safe.
      self._reader, self._writer = (
        tff.program.FileProgramStateManager(path, _PREFIX, keep_total=0)
        for path in (folder, self._unfinished)
      )
      self._clear()

  async def get_versions(self) -> list[int] | None:
    """Returns the versions that there are, damaged or not; None for none."""
    return await self._reader.get_versions()

  async def load(
    self, version: int, structure: tff.program.ProgramStateStructure
  ) -> tff.program.ProgramStateStructure:
    """Returns a version.

    Args:
      version: Which.
      structure: What its structure is.

    Raises:
      durable_files.OutputError: If it is damaged or has another structure.
      tff.program.ProgramStateNotFoundError: If there is none.
    """
    path = self._path(version)
    if path.exists():
      _check(path)
    return await self._read(version, structure)

  async def load_latest(
    self, structure: tff.program.ProgramStateStructure
  ) -> tuple[tff.program.ProgramStateStructure | None, int]:
    """Returns the newest version that is intact, and its number.

    Those that are not are named in the log.

    Args:
      structure: What its structure is.

    Returns:
      The state and its version, or (None, 0) if nothing was ever saved.

    Raises:
      durable_files.OutputError: If there are versions, and all are damaged, or
        the newest that is not has another structure.
    """
    versions = await self.get_versions()
    if versions is None:
      return None, 0
    version = _newest_intact(self._folder, versions)
    return await self._read(version, structure), version

  async def save(
    self, program_state: tff.program.ProgramStateStructure, version: int
  ) -> None:
    """Saves a version, and removes the oldest of those before it.

    When this returns it is on the disk.

    Args:
      program_state: The state.
      version: Its number. A damaged version of that number is replaced.

    Raises:
      durable_files.OutputError: If it cannot be written. The versions that
        there are stay as they are.
      tff.program.ProgramStateExistsError: If there is an intact one already.
    """
    path = self._path(version)
    if path.exists() and _find_damage(path) is None:
      raise tff.program.ProgramStateExistsError(
        version=version, path=str(self._folder)
      )
    with durable_files.naming(path):
      try:
        self._clear()
        await self._writer.save(program_state, version)
        written = self._unfinished / path.name
        _seal(written)
        if path.exists():
          path.rename(self._unfinished / 'damaged')
        written.rename(path)
        durable_files.sync(self._folder)
        await self._remove_old(version)
      except Exception:
        # A full disk has no room for half a checkpoint.
        shutil.rmtree(self._unfinished, ignore_errors=True)
        raise

  async def _read(
    self, version: int, structure: tff.program.ProgramStateStructure
  ) -> tff.program.ProgramStateStructure:
    try:
      return await self._reader.load(version, structure)
    except (ValueError, TypeError, OSError) as error:
      raise durable_files.OutputError(
        f'{self._path(version)} has no state of this program, but perhaps of'
        ' another version of it; go on with that one, or choose another folder'
      ) from error

  async def _remove_old(self, newest: int) -> None:
    # Those after it, if any, are damaged: it was trained from what is before.
    versions = [n for n in await self.get_versions() or () if n <= newest]
    for version in versions[: -self._num_kept]:
      path = self._path(version)
      path.rename(self._unfinished / path.name)
    self._clear()

  def _clear(self) -> None:
    if self._unfinished.exists():
      shutil.rmtree(self._unfinished)

  def _path(self, version: int) -> pathlib.Path:
    return self._folder / f'{_PREFIX}{version}'


def read_latest(folder: pathlib.Path) -> tuple[Any, int] | None:
  """Returns the newest version that is intact, whatever was saved.

  Nothing is written or removed, so that a run may go on meanwhile.

  Args:
    folder: Where the checkpoints are.

  Returns:
    The state, made of tensors and of named tuples like those that were saved,
    and its version; None if nothing was saved.

  Raises:
    durable_files.OutputError: If there are versions, and all are damaged.
  """
  names = (
    path.name.removeprefix(_PREFIX) for path in folder.glob(f'{_PREFIX}*')
  )
  versions = sorted(int(name) for name in names if name.isdecimal())
  if not versions:
    return None
  version = _newest_intact(folder, versions)
  # TFF saves a function that returns the state.
  return tf.saved_model.load(str(folder / f'{_PREFIX}{version}'))(), version


def _newest_intact(folder: pathlib.Path, versions: Sequence[int]) -> int:
  """Returns the last of some versions that is intact."""
  for version in reversed(versions):
    try:
      _check(folder / f'{_PREFIX}{version}')
      return version
    except durable_files.OutputError as error:
      logging.warning('%s; it is left out', error)
      last = error
  raise durable_files.OutputError(
    f'no checkpoint in {folder} is intact ({last}); put a good copy in its'
    ' place, or remove that folder to train from the beginning'
  )


def _check(path: pathlib.Path) -> None:
  damage = _find_damage(path)
  if damage is not None:
    raise durable_files.OutputError(f'{path} is damaged: {damage}')


def _seal(folder: pathlib.Path) -> None:
  """Flushes what was written to the disk, and then its checksums."""
  for path in folder.rglob('*'):
    durable_files.sync(path)
  text = ''.join(
    f'{checksum}  {name}\n' for name, checksum in _checksums(folder).items()
  )
  with durable_files.replacing(folder / _CHECKSUMS) as file:
    file.write(text.encode())


def _find_damage(folder: pathlib.Path) -> str | None:
  """Returns what is wrong with a checkpoint, or None if nothing is."""
  try:
    text = (folder / _CHECKSUMS).read_text()
    found = _checksums(folder)
  except (OSError, UnicodeDecodeError) as error:
    return str(error)
  lines = [line.partition('  ') for line in text.splitlines()]
  expected = {name: checksum for checksum, _, name in lines}
  for name in sorted({*found, *expected}):
    if name not in found:
      return f'{name} is missing'
    if found[name] != expected.get(name):
      return f'{name} is not as it was saved'
  return None


def _checksums(folder: pathlib.Path) -> dict[str, str]:
  """Returns the SHA-256 of each file of a checkpoint by its name."""
  return {
    path.relative_to(folder).as_posix(): hashlib.sha256(
      path.read_bytes()
    ).hexdigest()
    for path in sorted(folder.rglob('*'))
    if path.is_file() and path.name != _CHECKSUMS
  }
