# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads images to compute features of, with their labels or clients."""

import pathlib
from typing import NamedTuple
import zipfile
import zlib

import numpy as np

from tff_semifl.data import data_errors
from tff_semifl.data import image_listing
from tff_semifl.data import image_reading
from tff_semifl.data import sources

# A larger array is kept in a file on disk.
_MAX_BYTES_IN_MEMORY = 2**30
_KEPT = ('labels', 'client_ids')


class ImageInput(NamedTuple):
  """Images with their labels or clients.

  Attributes:
    images: uint8 [images, height, width, 1 or 3], in memory, mapped, or in a
      file.
    others: Arrays by name: `labels` or `client_ids`, int [images], and
      `class_names` or `client_names`, strings.
  """

  images: sources.Images
  others: dict[str, np.ndarray]


def read_folders(
  root: pathlib.Path, image_size: tuple[int, int], *, are_clients: bool
) -> ImageInput:
  """Reads a folder of folders of images."""
  problems = []
  folders = image_listing.list_folders(root, problems, are_clients=are_clients)
  data_errors.raise_if_any(root, problems)
  form = image_reading.ImageForm(image_size)
  files = [file for each in folders.values() for file in each]
  if not files:
    raise data_errors.DataError(f'{root} has no image in it')
  found = image_reading.read(files, form, problems, _MAX_BYTES_IN_MEMORY)
  data_errors.raise_if_any(root, problems)
  numbers = np.repeat(
    np.arange(len(folders), dtype=np.int32), [*map(len, folders.values())]
  )
  names = np.array(list(folders))
  if are_clients:
    return ImageInput(
      found.images, {'client_ids': numbers, 'client_names': names}
    )
  return ImageInput(found.images, {'labels': numbers, 'class_names': names})


def read_federation(
  root: pathlib.Path, image_size: tuple[int, int]
) -> dict[str, ImageInput]:
  """Reads a folder of photos of a server and clients, and for testing."""
  server = read_folders(root / 'server', image_size, are_clients=False)
  clients = read_folders(root / 'clients', image_size, are_clients=True)
  test = read_folders(root / 'test', image_size, are_clients=False)
  names = set(server.others['class_names'])
  others = sorted(set(test.others['class_names']) - names)
  if others:
    raise data_errors.DataError(
      f'{root}/test has a folder {others[0]!r}, and {root}/server has none; the'
      ' folders of both are the classes'
    )
  return {
    '': _name(server, 'labels', 'class_names'),
    'client_': ImageInput(
      clients.images,
      {'ids': clients.others['client_names'][clients.others['client_ids']]},
    ),
    'test_': _name(test, 'labels', 'class_names'),
  }


def _name(found: ImageInput, field: str, names: str) -> ImageInput:
  """An input whose numbers are replaced by names."""
  return ImageInput(
    found.images, {field: found.others[names][found.others[field]]}
  )


def read_file(path: pathlib.Path) -> ImageInput:
  """Reads a file of arrays."""
  try:
    found = np.load(path, mmap_mode='r', allow_pickle=False)
    arrays = {'images': found} if isinstance(found, np.ndarray) else dict(found)
  except (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    ValueError,
  ) as error:
    # A damaged file may send NumPy to an invalid position.
    if isinstance(error, OSError) and error.filename:
      raise
    raise ValueError(f'is damaged, or no .npz or .npy file: {error}') from error
  if 'images' not in arrays:
    raise ValueError(f'has the arrays {", ".join(arrays)}, but no images')
  images = arrays['images']
  if images.dtype != np.uint8 or images.ndim != 4 or not len(images):
    raise ValueError(
      f'has images of dtype {images.dtype} and shape {list(images.shape)}; they'
      ' must be uint8 [images, height, width, 1 or 3]'
    )
  others = {name: arrays[name] for name in _KEPT if name in arrays}
  for name, array in others.items():
    if array.shape != images.shape[:1]:
      raise ValueError(
        f'has {len(images)} images, but {name} of shape {list(array.shape)}'
      )
  return ImageInput(images, others)
