# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Files of feature vectors: .npz with arrays of server, clients and test set.

| array             | values                                        | needed |
| ----------------- | --------------------------------------------- | ------ |
| `features`        | float [n, d], feature vectors of the server   | yes    |
| `labels`          | integers or strings [n]                       | yes    |
| `class_names`     | strings [classes], in the order of the labels | no     |
| `client_features` | float [m, d], feature vectors of all clients  | no     |
| `client_ids`      | integers or strings [m], each vector's client | no     |
| `client_labels`   | as `labels`, [m]; not for training            | no     |
| `test_features`   | float [t, d], feature vectors for tests       | no     |
| `test_labels`     | as `labels`, [t]                              | no     |
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
import os
import pathlib
import zipfile

import numpy as np

from tff_semifl.data import data_errors
from tff_semifl.data import own_images
from tff_semifl.data import own_labels
from tff_semifl.data import sources

_BATCH_SIZE = 1024
# For an array, the array that must accompany it.
_NEEDS = {
  'features': 'labels',
  'labels': 'features',
  'class_names': 'labels',
  'client_features': 'features',
  'client_ids': 'client_features',
  'client_labels': 'client_features',
  'test_features': 'test_labels',
  'test_labels': 'test_features',
}


def has_client_ids(path: str | os.PathLike) -> bool:
  """Whether a file has client ids; False if the file cannot be read."""
  try:
    with zipfile.ZipFile(path) as archive:
      return 'client_ids.npy' in archive.namelist()
  except (OSError, zipfile.BadZipFile):
    return False


def read(path: str | os.PathLike) -> tuple[sources.TaskData, tuple[str, ...]]:
  """Reads data and class names; without test arrays, the test set is empty."""
  return _create(_read_arrays(pathlib.Path(path)))


def read_test(
  path: str | os.PathLike, class_names: Sequence[str]
) -> sources.LabeledImages:
  """Reads the test features and labels of a file; ignores other arrays."""
  arrays = _read_arrays(pathlib.Path(path), ('test_features', 'test_labels'))
  vectors = own_images.convert_features(
    'test_features', arrays['test_features']
  )
  labels = _index('test_labels', arrays, len(vectors), class_names)
  return sources.LabeledImages(vectors, labels)


def read_vectors(
  path: str | os.PathLike, num_features: int | None = None
) -> np.ndarray:
  """Reads float32 vectors [number, features] of .npy, or .npz's `features`."""
  arrays = _read_arrays(pathlib.Path(path), ('features',))
  vectors = own_images.convert_features('features', arrays['features'])
  if num_features not in (None, vectors.shape[1]):
    raise ValueError(
      f'features: found {vectors.shape[1]} features; the model takes'
      f' {num_features}'
    )
  return vectors


def read_partly_labeled(
  path: str | os.PathLike,
) -> tuple[np.ndarray, np.ndarray]:
  """Reads feature vectors and labels, some of which may be missing.

  Vectors are float32 [number, features], labels are int64 or str [number]. A
  missing label is -1 or ''. Without an array `labels`, all labels are -1.
  """
  arrays = _read_arrays(pathlib.Path(path), ('features',), ('labels',))
  features = own_images.convert_features('features', arrays['features'])
  own_images.check_server_features('features', features)
  given = arrays.get('labels', np.full(len(features), -1))
  labels = own_labels.flatten('labels', given, len(features))
  if labels.dtype.kind == 'i' and labels.min() < -1:
    raise ValueError(f'labels: found {labels.min()}; give -1 for no label')
  return features, labels


def read_batches(
  files: Iterable[pathlib.Path], num_features: int
) -> Iterator[tuple[list[str], np.ndarray]]:
  """Yields names `<file>[<row>]` with vectors, float32 [batch, features]."""
  for file in files:
    try:
      vectors = read_vectors(file, num_features)
    except ValueError as error:
      raise data_errors.DataError(f'{file} {error}') from error
    for start in range(0, len(vectors), _BATCH_SIZE):
      batch = vectors[start : start + _BATCH_SIZE]
      rows = range(start, start + len(batch))
      yield [f'{file}[{row}]' for row in rows], batch


def _read_arrays(
  path: pathlib.Path, names: Sequence[str] = (), optional: Sequence[str] = ()
) -> Mapping[str, np.ndarray]:
  """Reads the required arrays `names` of a file, by default all arrays.

  Arrays in `optional` may be missing. The array of a .npy file has the name
  `features`.
  """
  try:
    found = np.load(path, allow_pickle=False)
    if isinstance(found, np.ndarray):
      arrays = {'features': found}
    else:
      with found:
        wanted = [*names, *set(optional).intersection(found.files)]
        arrays = {each: found[each] for each in wanted or found.files}
  except FileNotFoundError as error:
    raise data_errors.DataError('there is no such file') from error
  except KeyError as error:
    raise data_errors.DataError(
      f'has no array {error.args[0].split()[0]}; it has'
      f' {", ".join(found.files)}'
    ) from error
  # NumPy raises ValueError for pickles, and EOFError for empty files.
  except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
    reason = (str(error).strip() or type(error).__name__).partition('\n')[0]
    raise data_errors.DataError(
      f'cannot be read as arrays ({reason}); give a .npz of numbers and'
      ' strings, as numpy.savez writes it'
    ) from error
  if not names:
    _check_names(list(arrays))
  return arrays


def _check_names(found: list[str]) -> None:
  for name in found:
    if name not in _NEEDS:
      raise data_errors.DataError(
        f'has an array {name}, which nothing reads; arrays are'
        f' {", ".join(_NEEDS)}'
      )
  if 'features' not in found:
    raise data_errors.DataError('has no array features, those of the server')
  for name in found:
    if _NEEDS[name] not in found:
      raise data_errors.DataError(
        f'has {name} but no {_NEEDS[name]}; give both, or leave out {name}'
      )


def _create(
  arrays: Mapping[str, np.ndarray],
) -> tuple[sources.TaskData, tuple[str, ...]]:
  """Converts the arrays of a file; client and test arrays are optional."""
  features = own_images.convert_features('features', arrays['features'])
  own_images.check_server_features('features', features)
  labels = own_labels.flatten('labels', arrays['labels'], len(features))
  given = arrays['class_names'].tolist() if 'class_names' in arrays else None
  class_names, classes = own_labels.index_server('labels', labels, given)

  def read(name: str) -> np.ndarray | None:
    if name not in arrays:
      return None
    others = own_images.convert_features(name, arrays[name])
    if others.shape[1] != features.shape[1]:
      raise ValueError(
        f'{name}: found {others.shape[1]} features; those of the server have'
        f' {features.shape[1]}'
      )
    return others

  train = sources.LabeledImages(features, classes)
  data = sources.TaskData(train, train.select([]), read('client_features'))
  vectors = read('test_features')
  if vectors is not None:
    labels = _index('test_labels', arrays, len(vectors), class_names)
    data = data._replace(test=sources.LabeledImages(vectors, labels))
  if 'client_labels' in arrays:
    labels = _index('client_labels', arrays, len(data.unlabeled), class_names)
    data = data._replace(unlabeled_labels=labels)
  if 'client_ids' in arrays:
    shares, names = _read_shares(arrays['client_ids'], len(data.unlabeled))
    data = data._replace(shares=shares, client_names=names)
  return data, class_names


def _index(
  name: str,
  arrays: Mapping[str, np.ndarray],
  number: int,
  class_names: Sequence[str],
) -> np.ndarray:
  labels = own_labels.flatten(name, arrays[name], number)
  return own_labels.index(name, labels, class_names)


def _read_shares(
  ids: np.ndarray, number: int
) -> tuple[list[np.ndarray], list[str]]:
  """The indices of each client's vectors, and the sorted client ids."""
  if ids.shape != (number,) or ids.dtype.kind not in 'uiUS':
    raise ValueError(
      f'client_ids: found {ids.dtype} of shape {ids.shape}; give an integer or'
      f' a string for each of the {number} vectors of clients'
    )
  if ids.dtype.kind == 'U':
    ids = np.array([own_labels.normalize(each) for each in ids])
  found, client, sizes = np.unique(ids, return_inverse=True, return_counts=True)
  in_order = np.argsort(client, kind='stable')
  if ids.dtype.kind == 'S':
    found = np.char.decode(found, errors='backslashreplace')
  shares = np.split(in_order, np.cumsum(sizes)[:-1])
  return shares, [*map(str, found.tolist())]
