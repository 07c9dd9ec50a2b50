# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads a user's image folders.

    server/<class>/<image>       labeled
    clients/<client>/<image>     unlabeled, at any depth
    clients/<client>/labels.csv  optional labels for metrics
    test/<class>/<image>         labeled; optional

Images in `clients/<client>/<class>` have labels that the client may train on.
Classes, clients and images are sorted by name. `image_listing` says which files
are ignored.
"""

from collections.abc import Mapping, Sequence
import itertools
import math
import os
import pathlib
from typing import NamedTuple

import numpy as np

from tff_semifl.data import data_errors
from tff_semifl.data import image_files
from tff_semifl.data import image_listing
from tff_semifl.data import image_reading
from tff_semifl.data import own_labels
from tff_semifl.data import sources

# Larger images, such as photos, keep their size only with --image_size: they
# would fill the memory, and a step would take seconds.
MAX_DEFAULT_SIZE = 128
# The size if images differ in size, or exceed `MAX_DEFAULT_SIZE`.
DEFAULT_SIZE = (64, 64)

_Folders = Mapping[str, Sequence[pathlib.Path]]


class ImageFolders(NamedTuple):
  """The images of server (`labeled`), clients (`unlabeled`) and test set.

  `files` are the paths of all images, relative to the root folder: server, test
  set, clients. Other fields are as in `sources.TaskData`.
  """

  class_names: tuple[str, ...]
  client_names: tuple[str, ...]
  labeled: sources.LabeledImages
  unlabeled: sources.Images
  shares: list[np.ndarray]
  test: sources.LabeledImages | None
  num_resized: int
  files: list[str]
  unlabeled_labels: np.ndarray
  labeled_clients: Sequence[int]


def read_image_folders(
  root: str,
  form: image_reading.ImageForm,
  *,
  max_bytes_in_memory: float = math.inf,
  has_clients: bool = True,
) -> ImageFolders:
  """Reads the images of a server, its clients and a test set.

  If `form.size` is None, all images get the size of the server's images, or
  `DEFAULT_SIZE` if the server's images differ in size or are larger than
  `MAX_DEFAULT_SIZE`. If all clients' images together take more than
  `max_bytes_in_memory`, they are kept in a file.
  """
  root_path = pathlib.Path(root)
  problems = []
  server, clients, test = _list_all(root_path, has_clients, problems)
  of_clients = [
    find(root_path / 'clients', _flatten(clients), list(server), problems)
    for find in (image_listing.find_class_folders, image_listing.read_labels)
  ]
  data_errors.raise_if_any(root_path, problems)
  ends = np.cumsum([len(files) for files in clients.values()], dtype=int)
  shares = np.split(np.arange(len(of_clients[0])), ends[:-1])
  labels, labeled_clients = own_labels.join(of_clients, shares, [*clients])
  if form.size is None:
    form = form._replace(size=_find_size_of_all(_flatten(server)))
  # Only clients' images may be too many for the memory.
  found = [
    image_reading.read(_flatten(folders), form, problems, limit)
    for folders, limit in (
      (server, math.inf),
      (clients, max_bytes_in_memory),
      (test or {}, math.inf),
    )
  ]
  data_errors.raise_if_any(root_path, problems)
  labeled, unlabeled, test_data = (each.images for each in found)
  return ImageFolders(
    class_names=tuple(server),
    # Tables cannot contain invalid Unicode.
    client_names=tuple(
      name.encode(errors='backslashreplace').decode() for name in clients
    ),
    labeled=_label(labeled, server, list(server)),
    unlabeled=unlabeled,
    shares=shares,
    test=None if test is None else _label(test_data, test, list(server)),
    num_resized=sum(each.num_resized for each in found),
    files=[
      str(file.relative_to(root_path))
      for folders in (server, test or {}, clients)
      for file in _flatten(folders)
    ],
    unlabeled_labels=labels,
    labeled_clients=labeled_clients,
  )


def _list_all(
  root: pathlib.Path, has_clients: bool, problems: list[data_errors.Problem]
) -> tuple[_Folders, _Folders, _Folders | None]:
  """Lists the files of server, clients and test; appends to `problems`."""
  # `os.path` functions do not raise for unreadable paths, unlike `pathlib`'s.
  if not os.path.isdir(root):
    raise data_errors.DataError(f'{root} is missing or is no folder')

  def report(path: str, reason: str) -> None:
    problems.append(data_errors.Problem(root / path, reason))

  server = image_listing.list_folders(root / 'server', problems)
  clients, test = {}, None
  if has_clients:
    clients = image_listing.list_folders(
      root / 'clients', problems, are_clients=True
    )
  if os.path.exists(root / 'test'):
    test = image_listing.list_folders(root / 'test', problems)
  if len(server) == 1:
    report('server', 'has one class only')
  if clients and not any(clients.values()):
    report('clients', 'has no image in it')
  for name in server:
    # Bytes that are not Unicode become surrogates.
    if '\n' in name or any('\ud800' <= each <= '\udfff' for each in name):
      report(f'server/{name}', 'has a line break or no Unicode in its name')
  for name in test or ():
    if name not in server:
      report(f'test/{name}', 'is no class of the server')
  return server, clients, test


def _flatten(folders: _Folders) -> list[pathlib.Path]:
  return list(itertools.chain(*folders.values()))


def _label(
  images: np.ndarray, folders: _Folders, class_names: Sequence[str]
) -> sources.LabeledImages:
  labels = np.repeat(
    np.array([class_names.index(name) for name in folders], np.int32),
    [len(files) for files in folders.values()],
  )
  return sources.LabeledImages(images, labels)


def read_client_folder(
  folder: str, form: image_reading.ImageForm
) -> image_reading.ReadImages:
  """Reads the images of one client, at any depth, into a file on disk."""
  root = pathlib.Path(folder)
  if not os.path.isdir(root):
    raise data_errors.DataError(f'{folder} is missing or is no folder')
  files = image_listing.list_tree(root)
  if not files:
    raise data_errors.DataError(f'{folder} has no image in it')
  problems = []
  # -1 keeps any number of images on disk.
  found = image_reading.read(files, form, problems, max_bytes_in_memory=-1)
  data_errors.raise_if_any(root, problems)
  return found


def _find_size_of_all(files: Sequence[pathlib.Path]) -> tuple[int, int]:
  """The size of all images if the settings do not choose a size."""
  sizes = {*image_reading.map_in_threads(_find_size, files)}
  common = sizes.pop() if len(sizes) == 1 else None
  if common is None or max(common) > MAX_DEFAULT_SIZE:
    return DEFAULT_SIZE
  return common


def _find_size(file: pathlib.Path) -> tuple[int, int] | None:
  try:
    return image_files.read_size(file)
  except data_errors.DataError:
    # The error is reported when all files are read.
    return None
