# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Packs an experiment's folder into one small file, to resume elsewhere.

The file, NAME.tar.xz, has the newest intact checkpoint and all other files that
resuming needs. A run resumed from the file gives bitwise the same results as an
uninterrupted run. Older checkpoints, the exported model and TensorBoard's log
are left out.
"""

import lzma
import pathlib
import tarfile

from tff_semifl.experiment import checkpoints
from tff_semifl.experiment import hparams_file
from tff_semifl.files import durable_files

SUFFIX = '.tar.xz'
_CHECKPOINTS = 'checkpoints'
_LEFT_OUT = ('.lock', 'export', 'logdir')


def pack(folder: pathlib.Path, path: pathlib.Path) -> int | None:
  """Packs an experiment; nobody may train in the folder meanwhile.

  Replaces the file atomically. Returns the round of the checkpoint; without a
  checkpoint returns None, and writes nothing. Raises an `OutputError` if no
  checkpoint is intact, or the file cannot be written.
  """
  latest = checkpoints.read_latest(folder / _CHECKPOINTS)
  if latest is None:
    return None
  _, round_num = latest
  kept = folder / _CHECKPOINTS / f'program_state_{round_num}.npz'
  with (
    durable_files.naming(path, 'with this mended, pack again'),
    durable_files.replacing(path) as file,
    # The weights hardly compress; the rest does.
    tarfile.open(fileobj=file, mode='w:xz') as archive,
  ):
    for each in sorted(folder.rglob('*')):
      name = each.relative_to(folder)
      is_old = name.parts[0] == _CHECKPOINTS and each != kept
      if each.is_file() and not is_old and name.parts[0] not in _LEFT_OUT:
        archive.add(each, str(name))
  return round_num


def unpack(path: pathlib.Path, folder: pathlib.Path) -> None:
  """Unpacks an experiment to a folder that does not exist yet.

  Raises an `OutputError` if the folder exists, or the file is no packed
  experiment; then the folder is not created.
  """
  if folder.exists():
    raise durable_files.OutputError(
      f'{folder} exists; unpack {path} to another folder'
    )
  try:
    with (
      durable_files.replacing_folder(folder) as unfinished,
      tarfile.open(path, 'r:xz') as archive,
    ):
      archive.extractall(unfinished, filter='data')
      # Raises a ValueError if there is none.
      hparams_file.read(unfinished / hparams_file.NAME)
      if checkpoints.read_latest(unfinished / _CHECKPOINTS) is None:
        raise ValueError('it has no checkpoint')
  except (
    EOFError,
    OSError,
    ValueError,
    durable_files.OutputError,
    lzma.LZMAError,
    tarfile.TarError,
  ) as error:
    raise durable_files.OutputError(
      f'{path} cannot be unpacked ({error}); give a file that'
      ' benchmarks.packed_experiment wrote'
    ) from error
