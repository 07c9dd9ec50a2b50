# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Files of feature vectors: .npz with arrays of the server, clients and test.

| array             | values                                        | needed |
| ----------------- | --------------------------------------------- | ------ |
| `features`        | float [n, d], of the server                   | yes    |
| `labels`          | integers or strings [n]                       | yes    |
| `class_names`     | strings [classes], in the order of the labels | no     |
| `client_features` | float [m, d], of all clients                  | no     |
| `client_ids`      | integers or strings [m], each vector's client | no     |
| `client_labels`   | as `labels`, [m]; not trained on              | no     |
| `test_features`   | float [t, d]                                  | no     |
| `test_labels`     | as `labels`, [t]                              | no     |
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
import os
import pathlib
from typing import NamedTuple
import zipfile

import numpy as np

from tff_semifl.data import data_errors
from tff_semifl.data import own_features
from tff_semifl.data import own_labels
from tff_semifl.data import sources

_BATCH_SIZE = 1024
_FEATURES, _LABELS, _CLASS_NAMES = 'features', 'labels', 'class_names'
_CLIENT_FEATURES, _CLIENT_IDS = 'client_features', 'client_ids'
_CLIENT_LABELS = 'client_labels'
_TEST_FEATURES, _TEST_LABELS = 'test_features', 'test_labels'
_NAMES = (
  _FEATURES,
  _LABELS,
  _CLASS_NAMES,
  _CLIENT_FEATURES,
  _CLIENT_IDS,
  _CLIENT_LABELS,
  _TEST_FEATURES,
  _TEST_LABELS,
)


class FeatureFile(NamedTuple):
  """The content of a file; None for what it does not have.

  Attributes:
    labeled: The server's features, float32 [number, features].
    test: Test features; may be empty.
    unlabeled: Clients' features, float32 [number, features].
    client_labels: int32, the classes of `unlabeled`.
    shares: int64 indices into `unlabeled` for each client, in the order of the
      sorted ids.
    client_names: The ids as strings.
  """

  labeled: sources.LabeledImages
  class_names: tuple[str, ...]
  test: sources.LabeledImages
  unlabeled: np.ndarray | None
  client_labels: np.ndarray | None
  shares: list[np.ndarray] | None
  client_names: list[str] | None


def has_client_ids(path: str | os.PathLike) -> bool:
  """Whether a file has client ids, without reading arrays; False on errors."""
  try:
    with zipfile.ZipFile(path) as archive:
      return f'{_CLIENT_IDS}.npy' in archive.namelist()
  except (OSError, zipfile.BadZipFile):
    return False


def read(path: str | os.PathLike) -> FeatureFile:
  """Reads a file of features."""
  arrays = _read_arrays(pathlib.Path(path))
  return _create(arrays)


def read_test(
  path: str | os.PathLike, class_names: Sequence[str]
) -> sources.LabeledImages:
  """Reads the test features of a file; other arrays are optional."""
  arrays = _read_arrays(pathlib.Path(path), (_TEST_FEATURES, _TEST_LABELS))
  vectors = own_features.convert(_TEST_FEATURES, arrays[_TEST_FEATURES])
  labels = own_labels.flatten(_TEST_LABELS, arrays[_TEST_LABELS], len(vectors))
  return sources.LabeledImages(
    vectors, own_labels.index(_TEST_LABELS, labels, class_names)
  )


def read_vectors(
  path: str | os.PathLike, num_features: int | None = None
) -> np.ndarray:
  """Reads float32 [number, features] of a .npy, or `features` of a .npz."""
  arrays = _read_arrays(pathlib.Path(path), (_FEATURES,))
  vectors = own_features.convert(_FEATURES, arrays[_FEATURES])
  if num_features not in (None, vectors.shape[1]):
    raise ValueError(
      f'{_FEATURES}: found {vectors.shape[1]} features; the model takes'
      f' {num_features}'
    )
  return vectors


def read_batches(
  files: Iterable[pathlib.Path],
  num_features: int,
  *,
  on_error: Callable[[str], None] | None = None,
) -> Iterator[tuple[list[str], np.ndarray]]:
  """Yields batches of keys `<file>[<row>]` and float32 [batch, features]."""
  for file in files:
    try:
      vectors = read_vectors(file, num_features)
    except ValueError as error:
      message = f'{file} {error}'
      if on_error is None:
        raise data_errors.DataError(message) from error
      on_error(message)
      continue
    for start in range(0, len(vectors), _BATCH_SIZE):
      batch = vectors[start : start + _BATCH_SIZE]
      rows = range(start, start + len(batch))
      yield [f'{file}[{row}]' for row in rows], batch


def _read_arrays(
  path: pathlib.Path, names: Sequence[str] = ()
) -> Mapping[str, np.ndarray]:
  """The arrays of a file by name: the required `names`, by default all.

  A .npy has a single array, which gets the single required name.
  """
  expected = 'give a .npz, as numpy.savez writes it'
  try:
    found = np.load(path, allow_pickle=False)
  except FileNotFoundError as error:
    raise data_errors.DataError('there is no such file') from error
  # NumPy raises ValueError for pickles, EOFError for empty files.
  except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
    raise data_errors.DataError(
      f'cannot be read as arrays ({_first_line(error)}); {expected}, without'
      ' pickled objects'
    ) from error
  if isinstance(found, np.ndarray):
    if len(names) != 1:
      raise data_errors.DataError(f'has a single array; {expected}')
    return {names[0]: found}
  with found:
    missing = [name for name in names if name not in found.files]
    if missing:
      raise data_errors.DataError(
        f'has no array {missing[0]}; it has {", ".join(found.files) or "none"}'
      )
    if not names:
      _check_names(found.files)
    return {name: _read_array(found, name) for name in names or found.files}


def _check_names(found: list[str]) -> None:
  """Refuses unknown arrays, and files without labels."""
  for name in found:
    if name not in _NAMES:
      raise data_errors.DataError(
        f'has an array {name}, which nothing reads; arrays are'
        f' {", ".join(_NAMES)}'
      )
  pairs = {
    _CLIENT_IDS: _CLIENT_FEATURES,
    _CLIENT_LABELS: _CLIENT_FEATURES,
    _TEST_FEATURES: _TEST_LABELS,
    _TEST_LABELS: _TEST_FEATURES,
  }
  for name in (_FEATURES, _LABELS):
    if name not in found:
      raise data_errors.DataError(
        f'has no array {name}; it must have the features and labels of the'
        ' server'
      )
  for name, other in pairs.items():
    if name in found and other not in found:
      raise data_errors.DataError(
        f'has {name} but no {other}; give both, or leave out {name}'
      )


def _read_array(found: np.lib.npyio.NpzFile, name: str) -> np.ndarray:
  try:
    return found[name]
  except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
    reason = _first_line(error)
    if 'allow_pickle' in reason:
      reason = 'it has Python objects'
    raise data_errors.DataError(
      f'{name}: cannot be read ({reason}); give an array of numbers or strings'
    ) from error


def _first_line(error: Exception) -> str:
  return (str(error).strip() or type(error).__name__).partition('\n')[0]


def _create(arrays: Mapping[str, np.ndarray]) -> FeatureFile:
  """Checks and converts the arrays of a file."""
  features = own_features.convert(_FEATURES, arrays[_FEATURES])
  own_features.check_server(_FEATURES, features)
  labels = own_labels.flatten(_LABELS, arrays[_LABELS], len(features))
  if _CLASS_NAMES in arrays:
    class_names = own_labels.check_names(
      _CLASS_NAMES, arrays[_CLASS_NAMES].tolist()
    )
  else:
    class_names = own_labels.name_classes(_LABELS, labels)
  classes = own_labels.index(_LABELS, labels, class_names)
  own_labels.check_all_have_images(_LABELS, classes, class_names)

  def read_others(name: str) -> np.ndarray:
    others = own_features.convert(name, arrays[name])
    if others.shape[1] != features.shape[1]:
      raise ValueError(
        f'{name}: found {others.shape[1]} features; those of the server have'
        f' {features.shape[1]}; compute all of them by the same model'
      )
    return others

  def read_labels(name: str, number: int) -> np.ndarray:
    return own_labels.index(
      name, own_labels.flatten(name, arrays[name], number), class_names
    )

  test = sources.LabeledImages(features[:0], classes[:0])
  if _TEST_FEATURES in arrays:
    vectors = read_others(_TEST_FEATURES)
    test = sources.LabeledImages(
      vectors, read_labels(_TEST_LABELS, len(vectors))
    )
  unlabeled = client_labels = shares = client_names = None
  if _CLIENT_FEATURES in arrays:
    unlabeled = read_others(_CLIENT_FEATURES)
  if _CLIENT_LABELS in arrays:
    client_labels = read_labels(_CLIENT_LABELS, len(unlabeled))
  if _CLIENT_IDS in arrays:
    shares, client_names = _read_shares(arrays[_CLIENT_IDS], len(unlabeled))
  return FeatureFile(
    sources.LabeledImages(features, classes),
    class_names,
    test,
    unlabeled,
    client_labels,
    shares,
    client_names,
  )


def _read_shares(
  ids: np.ndarray, number: int
) -> tuple[list[np.ndarray], list[str]]:
  """The indices of each client's vectors, and the clients' sorted ids."""
  found = f'{_CLIENT_IDS}: found {ids.dtype} of shape {ids.shape}'
  if ids.ndim != 1 or ids.dtype.kind not in 'uiUS':
    raise ValueError(f'{found}; give an integer or a string for each vector')
  if len(ids) != number:
    raise ValueError(
      f'{found}, for {number} vectors of clients; give one for each'
    )
  if ids.dtype.kind == 'U':
    ids = np.array([own_labels.normalize(each) for each in ids])
  found, client, sizes = np.unique(ids, return_inverse=True, return_counts=True)
  in_order = np.argsort(client, kind='stable')
  client_names = [
    each.decode(errors='backslashreplace')
    if isinstance(each, bytes)
    else str(each)
    for each in found.tolist()
  ]
  return np.split(in_order, np.cumsum(sizes)[:-1]), client_names
