# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Converts a user's labels to class indices.

`field` is the name of the user's argument or array, for error messages.
"""

from collections.abc import Mapping, Sequence
from typing import Any
import unicodedata

import numpy as np

from tff_semifl.data import data_errors
from tff_semifl.data import sources

_EXPECTED = 'give an integer or a name of a class for each image'


def normalize(name: str) -> str:
  """Converts a name to Unicode's composed form (NFC).

  An accented letter may be one character or, as in archives from a Mac, a
  letter and its accent.
  """
  return unicodedata.normalize('NFC', name)


def flatten(field: str, labels: Any, num_images: int) -> np.ndarray:
  """Converts labels to an array, int64 or str [images].

  Labels are integers or strings [images] or [images, 1], or one-hot numbers
  [images, classes].
  """
  try:
    labels = np.asarray(labels)
  except ValueError as error:
    raise ValueError(
      f'{field}: found labels of several lengths; {_EXPECTED}'
    ) from error
  found = f'{field}: found labels of shape {labels.shape}'
  if labels.ndim == 2 and labels.shape[1] == 1:
    labels = labels[:, 0]
  elif labels.ndim == 2 and labels.dtype.kind in 'buif':
    is_binary = (labels == 0) | (labels == 1)
    if not (is_binary.all() and (labels.sum(axis=1) == 1).all()):
      raise ValueError(f'{found} that are not one-hot; {_EXPECTED}')
    labels = labels.argmax(axis=1)
  if labels.ndim != 1:
    raise ValueError(f'{found}; {_EXPECTED}')
  if len(labels) != num_images:
    raise ValueError(
      f'{field}: found {num_images} images and {len(labels)} labels'
    )
  kind = labels.dtype.kind
  if kind in 'SO' and all(isinstance(each, str | bytes) for each in labels):
    try:
      labels = np.array(
        [each.decode() if isinstance(each, bytes) else each for each in labels],
        str,
      )
    except UnicodeDecodeError as error:
      raise ValueError(
        f'{field}: found the label {error.object!r}, which is no UTF-8'
      ) from error
  if labels.dtype.kind == 'U':
    return np.array([normalize(label) for label in labels])
  if kind in 'bui' or (kind == 'f' and (labels == np.rint(labels)).all()):
    return labels.astype(np.int64)
  raise ValueError(
    f'{field}: found labels of dtype {labels.dtype}, {labels[0]!r} say;'
    f' {_EXPECTED}'
  )


def name_classes(field: str, labels: np.ndarray) -> tuple[str, ...]:
  """Class names from labels: the sorted strings, or '0', '1' and so on."""
  present = np.unique(labels)
  if len(present) < 2:
    raise ValueError(
      f'{field}: found the only class {present[0]}; give two at least'
    )
  if present.dtype.kind == 'U':
    return tuple(map(str, present))
  if present[0] < 0:
    raise ValueError(
      f'{field}: found the label {present[0]}; number the classes from 0'
    )
  missing = np.flatnonzero(present != np.arange(len(present)))
  if len(missing):
    raise ValueError(
      f'{field}: found labels up to {present[-1]}, but no image of class'
      f' {missing[0]}; number the classes from 0 without a gap'
    )
  return tuple(str(label) for label in present)


def check_names(field: str, names: Any) -> tuple[str, ...]:
  """Checks and normalizes class names; keeps their order."""
  problem = None
  if isinstance(names, str) or not all(isinstance(n, str) for n in names):
    problem = repr(names)
  elif len(names) < 2:
    problem = f'{names}, fewer than two'
  elif any('\n' in name for name in names):
    # Files of class names have one name per line.
    problem = f'{names}, with a line break'
  else:
    names = tuple(map(normalize, names))
    if len(set(names)) < len(names):
      problem = f'a name twice in {names}'
  if problem is not None:
    raise ValueError(
      f'{field}: found {problem}; give a list of strings, a name for each class'
    )
  return names


def index_server(
  field: str,
  labels: np.ndarray,
  class_names: Any = None,
  *,
  needs_all: bool = True,
) -> tuple[tuple[str, ...], np.ndarray]:
  """The names of all classes, and the server's labels as class indices.

  By default classes have the names of `name_classes`. With `needs_all`, each
  class needs at least one image.
  """
  if class_names is None:
    names = check_names(field, name_classes(field, labels))
  else:
    names = check_names('class_names', class_names)
  indices = index(field, labels, names)
  missing = np.setdiff1d(np.arange(len(names)), indices)
  if needs_all and len(missing):
    raise ValueError(f'{field}: found no image of class {names[missing[0]]}')
  return names, indices


def index(
  field: str, labels: np.ndarray, class_names: Sequence[str]
) -> np.ndarray:
  """Converts labels from `flatten` to class indices, int32 [images]."""
  if labels.dtype.kind == 'U':
    positions = {name: number for number, name in enumerate(class_names)}
    unknown = sorted(set(labels) - positions.keys())
    if unknown:
      raise ValueError(
        f'{field}: found the label {unknown[0]!r}; the classes are'
        f' {", ".join(class_names)}'
      )
    return np.array([positions[label] for label in labels], np.int32)
  unknown = labels[(labels < 0) | (labels >= len(class_names))]
  if len(unknown):
    raise ValueError(
      f'{field}: found the label {unknown[0]}; with {len(class_names)} classes,'
      f' labels are in 0..{len(class_names) - 1}; class_names can name more'
    )
  return labels.astype(np.int32)


def index_by_client(
  field: str,
  labels: Any,
  shares: Sequence[np.ndarray],
  class_names: Sequence[str],
) -> np.ndarray:
  """Converts the labels of each client's images to class indices.

  `labels` is a sequence or mapping of each client's labels, in the order of the
  clients. Labels are as for `flatten`; '' or -1 marks an image without a label.
  None stands for a client without labels, or for no labels at all.
  """
  if labels is None:
    labels = [None] * len(shares)
  by_name = labels.items() if isinstance(labels, Mapping) else enumerate(labels)
  named = list(by_name)
  if len(named) != len(shares):
    raise ValueError(
      f'{field}: found labels of {len(named)} clients, but images of'
      f' {len(shares)}; give as many, None for a client without labels'
    )
  indices = [np.empty(0, np.int32)]
  for (name, each), share in zip(named, shares, strict=True):
    found = np.full(len(share), sources.UNKNOWN_LABEL, np.int32)
    if each is not None:
      own = f'{field}[{name!r}]'
      each = flatten(own, each, len(share))
      is_known = each != ('' if each.dtype.kind == 'U' else -1)
      found[is_known] = index(own, each[is_known], class_names)
    indices.append(found)
  return np.concatenate(indices)


def join(
  labels: Sequence[np.ndarray],
  shares: Sequence[np.ndarray],
  client_names: Sequence[str],
) -> tuple[np.ndarray, list[int]]:
  """Joins clients' labels for training and labels for metrics.

  `labels` has the two arrays, int32 [images], in this order. Returns the joined
  array, and the indices of clients with labels for training. Raises a
  `DataError` if a client has labels of both kinds.
  """
  training, metrics = (
    [np.any(each[share] != sources.UNKNOWN_LABEL) for share in shares]
    for each in labels
  )
  # Without clients there is one empty share.
  for name, *has_labels in zip(client_names, training, metrics, strict=False):
    if all(has_labels):
      raise data_errors.DataError(
        f'client {name!r} has labels for training and for metrics; give one'
      )
  return np.maximum(*labels), np.flatnonzero(training).tolist()
