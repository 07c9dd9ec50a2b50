# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Labels of clients' images for metrics only; nothing trains on them.

The labels are int32 [images], in 0..classes-1. `sources.UNKNOWN_LABEL` marks an
image without a label.
"""

from collections.abc import Mapping, Sequence
import csv
import itertools
import pathlib
from typing import Any

import numpy as np

from tff_semifl.data import data_errors
from tff_semifl.data import own_labels
from tff_semifl.data import sources

FILE_NAME = 'labels.csv'
_COLUMNS = ('file', 'label')


def index(
  field: str, labels: Any, num_images: int, class_names: Sequence[str]
) -> np.ndarray:
  """Converts labels to class indices; '' and -1 become `UNKNOWN_LABEL`."""
  found = own_labels.flatten(field, labels, num_images)
  is_unknown = found == ('' if found.dtype.kind == 'U' else -1)
  indices = np.full(num_images, sources.UNKNOWN_LABEL, np.int32)
  indices[~is_unknown] = own_labels.index(
    field, found[~is_unknown], class_names
  )
  return indices


def index_by_client(
  field: str,
  labels: Any,
  shares: Sequence[np.ndarray],
  class_names: Sequence[str],
) -> np.ndarray:
  """Converts the labels of each client's images to class indices.

  `labels` is a sequence, or a mapping in the order of the clients. Each client
  has labels as for `index`, or None for no labels.
  """
  named = (
    list(labels.items())
    if isinstance(labels, Mapping)
    else list(enumerate(labels))
  )
  if len(named) != len(shares):
    raise ValueError(
      f'{field}: found labels of {len(named)} clients, but images of'
      f' {len(shares)}; give as many, None for a client without labels'
    )
  found = [np.empty(0, np.int32)]
  for (name, each), share in zip(named, shares, strict=True):
    size = len(share)
    if each is None or not size:
      each = np.full(size, -1)
    found.append(index(f'{field}[{name!r}]', each, size, class_names))
  return np.concatenate(found)


def read(
  root: pathlib.Path,
  files: Sequence[pathlib.Path],
  class_names: Sequence[str],
  problems: list[data_errors.Problem],
) -> np.ndarray:
  """Reads labels from each `labels.csv` in clients' folders, at any depth."""
  labels = np.full(len(files), sources.UNKNOWN_LABEL, np.int32)
  folders = {
    inner: [each for each in (inner, *inner.parents) if root in each.parents]
    for inner in dict.fromkeys(file.parent for file in files)
  }
  # Spreadsheets and file systems spell accented letters differently.
  places = {
    folder / own_labels.normalize(str(file.relative_to(folder))): number
    for number, file in enumerate(files)
    for folder in folders[file.parent]
  } | {file: number for number, file in enumerate(files)}
  for folder in dict.fromkeys(itertools.chain(*folders.values())):
    path = folder / FILE_NAME
    if not path.is_file():
      continue
    try:
      rows = _read_rows(path)
    except (csv.Error, OSError, UnicodeDecodeError, ValueError) as error:
      problems.append(data_errors.Problem(path, f'cannot be read ({error})'))
      continue
    for name, label in rows:
      place = places.get(
        folder / name, places.get(folder / own_labels.normalize(name))
      )
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


def _read_rows(path: pathlib.Path) -> list[tuple[str, str]]:
  # Spreadsheets write a byte-order mark.
  with path.open(newline='', encoding='utf-8-sig') as file:
    reader = csv.DictReader(file, strict=True)
    if not {*_COLUMNS} <= {*(reader.fieldnames or ())}:
      raise ValueError(f'it needs the columns {" and ".join(_COLUMNS)}')
    return [
      (row['file'] or '', own_labels.normalize(row['label'] or ''))
      for row in reader
    ]
