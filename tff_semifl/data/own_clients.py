# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Converts a user's client images and partitions to arrays.

As in `own_images`, each function takes the name of a field for its errors.
"""

from collections.abc import Iterator, Mapping, Sequence
import csv
import json
import os
import pathlib
from typing import Any

import numpy as np
import tensorflow as tf

from tff_semifl.data import example_kinds
from tff_semifl.data import own_features
from tff_semifl.data import own_images
from tff_semifl.data import own_labels


def concatenate(
  field: str, clients: Any
) -> tuple[np.ndarray, list[np.ndarray], list[str]]:
  """Concatenates all clients' images.

  `clients` is a sequence, a mapping from clients' names, or a
  `tff.simulation.datasets.ClientData`. A client's images are as for
  `own_images.convert`, or a `tf.data.Dataset`, whose labels are ignored. A
  client may have no images.

  Returns the images, each client's int64 indices, and the clients' names.
  """
  fields, arrays, sizes, client_names = [], [], [], []
  for name, images in _list_clients(field, clients):
    own = f'{field}[{name!r}]'
    own_images.check_form(own, images)
    if isinstance(images, tf.data.Dataset):
      images, _ = own_images.read_dataset(own, images, labeled=False)
    array = own_images.stack(own, images)
    sizes.append(len(array))
    client_names.append(str(name))
    if not len(array):
      continue
    if array.ndim == 2:
      array = own_features.convert(own, array)
    elif array.ndim < 2:
      raise ValueError(
        f'{own}: found an array of shape {array.shape}, which has no images;'
        ' give the images of each client, without labels'
      )
    if arrays and array.shape[1:] != arrays[0].shape[1:]:
      what, remedy = 'images', 'resize them to one size'
      if array.ndim == 2:
        what, _, _, _, remedy = example_kinds.FEATURES
      raise ValueError(
        f'{own}: found {what} of shape {array.shape[1:]}; those of others are'
        f' {arrays[0].shape[1:]}; {remedy}'
      )
    fields.append(own)
    arrays.append(array)
  if not arrays:
    raise ValueError(f'{field}: found no images; give one at least')
  if arrays[0].ndim == 2:
    images = np.concatenate(arrays)
  else:
    # All arrays at once: the brightest image of all clients tells the scale.
    own_images.check_scales(fields, arrays)
    images = own_images.convert(field, np.concatenate(arrays))
  shares = np.split(np.arange(len(images)), np.cumsum(sizes)[:-1])
  return images, shares, client_names


def _list_clients(field: str, clients: Any) -> Iterator[tuple[Any, Any]]:
  """Yields the name and the images of each client."""
  if own_images.is_client_data(clients):
    for name in clients.client_ids:
      yield name, clients.create_tf_dataset_for_client(name)
    return
  own_images.check_form(field, clients)
  if isinstance(clients, Mapping):
    yield from clients.items()
  elif isinstance(clients, Sequence):
    yield from enumerate(clients)
  else:
    raise ValueError(
      f'{field}: found a {type(clients).__name__}; give the images of each'
      ' client, as a list or by name, or all images as unlabeled, and shares'
    )


def read_shares(
  field: str, shares: Any, num_images: int
) -> tuple[list[np.ndarray], list[str]]:
  """Each client's int64 indices of unlabeled images, and the clients' names.

  Images that no client has are unused.
  """
  if isinstance(shares, str | os.PathLike):
    shares = _read_file(field, pathlib.Path(shares))
  if isinstance(shares, Mapping):
    named = list(shares.items())
  elif isinstance(shares, Sequence | np.ndarray):
    named = list(enumerate(shares))
  else:
    raise ValueError(
      f'{field}: found a {type(shares).__name__}; give the indices of each'
      ' client, as a list or by name, or the path of a JSON or CSV file'
    )
  checked = [
    _check(f'{field}[{name!r}]', share, num_images) for name, share in named
  ]
  if not any(map(len, checked)):
    raise ValueError(f'{field}: found no images; give one at least')
  given, counts = np.unique(np.concatenate(checked), return_counts=True)
  if (counts > 1).any():
    raise ValueError(
      f'{field}: found the index {given[counts > 1][0]} more than once; give'
      ' each image to one client'
    )
  return checked, [str(name) for name, _ in named]


def _check(field: str, share: Any, num_images: int) -> np.ndarray:
  try:
    share = np.asarray(share)
  except ValueError as error:
    raise ValueError(
      f'{field}: found lists of several lengths; give a list of integers'
    ) from error
  if share.shape == (0,):
    return np.empty(0, np.int64)
  if share.ndim != 1 or share.dtype.kind not in 'ui':
    raise ValueError(
      f'{field}: found {share.dtype} of shape {share.shape}; give a list of'
      ' integers'
    )
  outside = share[(share < 0) | (share >= num_images)]
  if len(outside):
    raise ValueError(
      f'{field}: found the index {outside[0]}; with {num_images} unlabeled'
      f' images, they are in 0..{num_images - 1}'
    )
  return share.astype(np.int64)


def _read_file(field: str, path: pathlib.Path) -> Any:
  """Reads a partition from a JSON or CSV file, as `read_shares` takes it."""
  if path.suffix not in ('.json', '.csv'):
    raise ValueError(f'{field}: found the file {path}; give a .json or a .csv')
  # Spreadsheets write a byte-order mark.
  with path.open(newline='', encoding='utf-8-sig') as file:
    try:
      if path.suffix == '.json':
        return json.load(file, object_pairs_hook=_create_mapping)
      shares = {}
      for row in csv.DictReader(file):
        name = own_labels.normalize(row['client'])
        shares.setdefault(name, []).append(int(row['index']))
      return shares
    except (
      csv.Error,
      KeyError,
      RecursionError,
      TypeError,
      ValueError,
    ) as error:
      raise ValueError(
        f'{field}: found in {path} what cannot be read ({error!r}); give JSON,'
        ' {"client": [0, 1]}, or CSV with the columns client and index'
      ) from error


def _create_mapping(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
  """Converts a JSON object to a mapping; raises an error for repeated names."""
  created = {}
  for name, value in pairs:
    name = own_labels.normalize(name)
    if name in created:
      raise ValueError(f'{name!r} occurs twice')
    created[name] = value
  return created
