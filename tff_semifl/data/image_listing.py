# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The files of folders of images, and what is wrong with them.

Names that begin with a dot, and what Windows and macOS leave in folders, are
passed over. All else must be of use, or there is an error that names it:
nothing of a user's data is dropped without a word. Whether there is a file or a
folder is asked by functions of `os.path`: those of `pathlib` raise an error
where it may not be known.
"""

from collections.abc import Iterable, Iterator, Sequence
import os
import pathlib
from typing import NamedTuple

from tff_semifl.data import image_files
from tff_semifl.data import names

# The last has labels of a client's images, see `measuring_labels`.
_IGNORED = frozenset({'Thumbs.db', 'desktop.ini', '__MACOSX', 'labels.csv'})
# Problems that an error names; of the others it has the number.
_NUM_NAMED = 5


class ImageFolderError(Exception):
  """Raised if a folder of images cannot be used; the message is one line."""


class OddSizeError(ImageFolderError):
  """Raised if nothing but the sizes of some images is wrong."""


class Problem(NamedTuple):
  """The reason why a file or a folder cannot be used."""

  path: pathlib.Path
  reason: str
  is_odd_size: bool = False


def list_classes(root: str) -> dict[str, list[pathlib.Path]]:
  """Returns the files of each folder in a folder of class folders.

  Args:
    root: The folder.

  Raises:
    ImageFolderError: If it is missing, or it or a folder in it is empty.
  """
  problems = []
  folders = list_folders(pathlib.Path(root), problems)
  raise_if_any(pathlib.Path(root), problems)
  return folders


def list_files(paths: Sequence[str]) -> list[pathlib.Path]:
  """Returns files, and those of folders and of the folders in them.

  Args:
    paths: Files and folders.

  Raises:
    ImageFolderError: If one of them is missing, or a folder without a file.
  """
  files = []
  for path in map(pathlib.Path, paths):
    if not os.path.exists(path):
      raise ImageFolderError(f'{path} is missing')
    found = list(_walk(path)) if os.path.isdir(path) else [path]
    if not found:
      raise ImageFolderError(f'{path} has no file in it')
    files.extend(found)
  return files


def list_folders(
  folder: pathlib.Path,
  problems: list[Problem],
  *,
  may_be_empty: bool = False,
) -> dict[str, list[pathlib.Path]]:
  """Returns the files of each folder in a folder, in order of their names.

  Two folders whose names are the same but for how accents are written
  (`names.normalize`) are one.

  Args:
    folder: The folder.
    problems: What is wrong is added to it.
    may_be_empty: Whether a folder in it may be without a file.

  Raises:
    ImageFolderError: If a folder cannot be read.
  """
  if not os.path.isdir(folder):
    problems.append(Problem(folder, 'is missing or is no folder'))
    return {}
  found = {}
  for path in list_folder(folder):
    if not os.path.isdir(path):
      problems.append(Problem(path, 'is a file where a folder should be'))
      continue
    files = list(list_folder(path))
    problems.extend(find_folders(files))
    if not files and not may_be_empty:
      problems.append(Problem(path, 'is empty'))
    found.setdefault(names.normalize(path.name), []).extend(files)
  if not found:
    problems.append(Problem(folder, 'has no folder in it'))
  return dict(sorted(found.items()))


def find_folders(paths: Iterable[pathlib.Path]) -> list[Problem]:
  """Returns a problem for each folder."""
  return [
    Problem(path, 'is a folder where an image should be')
    for path in paths
    if os.path.isdir(path)
  ]


def list_folder(folder: pathlib.Path) -> Iterator[pathlib.Path]:
  """Yields what is of use in a folder, in order of the names.

  Raises:
    ImageFolderError: If it cannot be read.
  """
  try:
    paths = sorted(folder.iterdir())
  except OSError as error:
    raise ImageFolderError(
      f'{folder} cannot be read ({error.strerror})'
    ) from error
  for path in paths:
    if not path.name.startswith('.') and path.name not in _IGNORED:
      yield path


def _walk(folder: pathlib.Path) -> Iterator[pathlib.Path]:
  for path in list_folder(folder):
    if os.path.isdir(path):
      yield from _walk(path)
    else:
      yield path


def is_text(name: str) -> bool:
  """Returns whether a file's name, which is bytes, can be written as text."""
  try:
    name.encode()
  except UnicodeEncodeError:
    return False
  return True


def raise_if_any(root: pathlib.Path, problems: Sequence[Problem]) -> None:
  """Raises an error that names problems.

  Args:
    root: What all of them are in.
    problems: The problems, if there are any.

  Raises:
    OddSizeError: If all are sizes.
    ImageFolderError: If others are among them.
  """
  if not problems:
    return
  named = '; '.join(
    f'{problem.path.relative_to(root)} {problem.reason}'
    for problem in problems[:_NUM_NAMED]
  )
  num_more = len(problems) - _NUM_NAMED
  more = f'; and {num_more} more' if num_more > 0 else ''
  # Names may have any characters but one.
  message = ' '.join(f'in {root}: {named}{more}'.split('\n'))
  if all(problem.is_odd_size for problem in problems):
    resize = image_files.OnOddSize.RESIZE.value
    raise OddSizeError(f'{message}; {resize} would scale and crop them')
  raise ImageFolderError(message)
