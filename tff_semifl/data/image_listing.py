# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Lists folders of images, finds structural problems, and reads labels.

Hidden files, and files that Windows and macOS leave in folders, are ignored.
Any other unusable file is an error, so that no data are dropped silently. Files
are tested by `os.path`, because `pathlib` raises errors for unreadable paths.
"""

from collections.abc import Iterator, Sequence
import csv
import os
import pathlib

import numpy as np

from tff_semifl.data import data_errors
from tff_semifl.data import own_labels
from tff_semifl.data import sources

_LABELS = 'labels.csv'
_IGNORED = frozenset({'Thumbs.db', 'desktop.ini', '__MACOSX', _LABELS})


def list_classes(root: str) -> dict[str, list[pathlib.Path]]:
  """Lists the files of each class folder."""
  problems = []
  folders = list_folders(pathlib.Path(root), problems)
  data_errors.raise_if_any(pathlib.Path(root), problems)
  return folders


def list_files(paths: Sequence[str]) -> list[pathlib.Path]:
  """Lists the given files, and all files below the given folders."""
  files = []
  for path in map(pathlib.Path, paths):
    if not os.path.exists(path):
      raise data_errors.DataError(f'{path} is missing')
    found = list_tree(path) if os.path.isdir(path) else [path]
    if not found:
      raise data_errors.DataError(f'{path} has no file in it')
    files.extend(found)
  return files


def list_folders(
  folder: pathlib.Path,
  problems: list[data_errors.Problem],
  *,
  are_clients: bool = False,
) -> dict[str, list[pathlib.Path]]:
  """Maps sorted names of subfolders to their files; appends to `problems`.

  Clients' files may be at any depth. Subfolders whose names are equal after
  `own_labels.normalize` are merged.
  """

  def report(path: pathlib.Path, reason: str) -> None:
    problems.append(data_errors.Problem(path, reason))

  if not os.path.isdir(folder):
    report(folder, 'is missing or is no folder')
    return {}
  found = {}
  for path in list_folder(folder):
    if not os.path.isdir(path):
      report(path, 'is a file where a folder should be')
      continue
    if _leads_back(path):
      report(path, 'is a link to a folder that it is in')
      continue
    if are_clients:
      files = list_tree(path)
    else:
      files = list(list_folder(path))
      for file in filter(os.path.isdir, files):
        report(file, 'is a folder where an image should be')
      if not files:
        report(path, 'is empty')
    found.setdefault(own_labels.normalize(path.name), []).extend(files)
  if not found:
    report(folder, 'has no folder in it')
  return dict(sorted(found.items()))


def list_tree(folder: pathlib.Path) -> list[pathlib.Path]:
  """Lists the files of a folder and its subfolders, sorted; see `walk`."""
  return sorted(
    path
    for each in walk(folder)
    for path in list_folder(each)
    if not os.path.isdir(path)
  )


def walk(folder: pathlib.Path) -> Iterator[pathlib.Path]:
  """Yields a folder and all subfolders, each real folder once.

  A link is followed unless it leads to a folder that contains the link.
  """
  seen = set()
  pending = [folder]
  while pending:
    folder = pending.pop()
    real = os.path.realpath(folder)
    if real in seen:
      continue
    seen.add(real)
    yield folder
    inside = [path for path in list_folder(folder) if os.path.isdir(path)]
    pending.extend(path for path in reversed(inside) if not _leads_back(path))


def _leads_back(path: pathlib.Path) -> bool:
  """Whether a path is a link to a folder that contains the link."""
  if not os.path.islink(path):
    return False
  # `path.parent` may itself have been reached by a link.
  real = pathlib.Path(os.path.realpath(path.parent))
  around = (*path.absolute().parents, real, *real.parents)
  return os.path.realpath(path) in map(os.path.realpath, around)


def list_folder(folder: pathlib.Path) -> Iterator[pathlib.Path]:
  """Yields the paths in a folder that are not ignored, sorted by name."""
  try:
    paths = sorted(folder.iterdir())
  except OSError as error:
    message = f'{folder} cannot be read ({error.strerror})'
    raise data_errors.DataError(message) from error
  for path in paths:
    if not path.name.startswith('.') and path.name not in _IGNORED:
      yield path


def read_labels(
  root: pathlib.Path,
  files: Sequence[pathlib.Path],
  class_names: Sequence[str],
  problems: list[data_errors.Problem],
) -> np.ndarray:
  """Reads the labels in each client's `labels.csv`.

  The labels, int32 [files], are for metrics only; a file without a label has
  `sources.UNKNOWN_LABEL`.
  """
  labels = np.full(len(files), sources.UNKNOWN_LABEL, np.int32)
  # Spreadsheets and file systems encode accented letters differently.
  inside = [own_labels.normalize(str(file.relative_to(root))) for file in files]
  places = {name: number for number, name in enumerate(inside)}
  for client in dict.fromkeys(
    file.relative_to(root).parts[0] for file in files
  ):
    path = root / client / _LABELS
    if not path.is_file():
      continue
    try:
      rows = _read_rows(path)
    except (csv.Error, OSError, ValueError) as error:
      problems.append(data_errors.Problem(path, f'cannot be read ({error})'))
      continue
    for name, label in rows:
      place = places.get(own_labels.normalize(str(pathlib.Path(client, name))))
      if place is None:
        problem = f'names {name}, which is no image of this folder'
      elif label not in class_names:
        problem = f'has the label {label}, which is no class of the server'
      else:
        labels[place] = class_names.index(label)
        continue
      problems.append(data_errors.Problem(path, problem))
      break
  return labels


def find_class_folders(
  root: pathlib.Path,
  files: Sequence[pathlib.Path],
  class_names: Sequence[str],
  problems: list[data_errors.Problem],
) -> np.ndarray:
  """The labels of images in clients' class folders, int32 [files].

  If one folder inside a client has the name of a class, all folders must have.
  Otherwise the images of a misspelled class would count as unlabeled.
  """
  inside = [
    own_labels.normalize('/'.join(file.relative_to(root).parts[1:-1]))
    for file in files
  ]
  labels = np.full(len(files), sources.UNKNOWN_LABEL, np.int32)
  if not {each.partition('/')[0] for each in inside} & {*class_names}:
    return labels
  unknown = {}
  for place, name in enumerate(inside):
    if name in class_names:
      labels[place] = class_names.index(name)
    elif name:
      unknown[files[place].parent] = 'is no class of the server'
  problems.extend(map(data_errors.Problem, unknown, unknown.values()))
  return labels


def _read_rows(path: pathlib.Path) -> list[tuple[str, str]]:
  # Spreadsheets write a byte-order mark.
  with path.open(newline='', encoding='utf-8-sig') as file:
    reader = csv.DictReader(file, strict=True)
    if not {'file', 'label'} <= {*(reader.fieldnames or ())}:
      raise ValueError('it needs the columns file and label')
    return [
      (row['file'] or '', own_labels.normalize(row['label'] or ''))
      for row in reader
    ]
