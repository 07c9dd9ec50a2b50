# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads a user's image folders.

    server/<class>/<image>       labeled
    clients/<client>/<image>     unlabeled, at any depth; there may be none
    clients/<client>/labels.csv  optional labels for metrics
    test/<class>/<image>         labeled; optional

Classes, clients and images are sorted by name. `image_listing` says which files
are ignored.
"""

from collections.abc import Iterable, Mapping, Sequence
import itertools
import math
import os
import pathlib
from typing import NamedTuple

import numpy as np

from tff_semifl.data import image_files
from tff_semifl.data import image_listing
from tff_semifl.data import image_reading
from tff_semifl.data import measuring_labels
from tff_semifl.data import sources


class ImageFolders(NamedTuple):
  """All images of a root folder.

  Attributes:
    class_names: Names of the server's folders.
    client_names: Names of the clients' folders.
    labeled: The server's images.
    unlabeled: All clients' images, uint8 [number, height, width, channels], in
      memory or on disk.
    shares: For each client the int64 indices of its images in `unlabeled`.
    test: Test images, or None.
    num_resized: The number of images whose files have another size.
    num_transparent: The number of images with transparent pixels.
    files: Paths relative to the root folder: of the server, test and clients.
    unlabeled_labels: Labels of clients' images, see `measuring_labels`.
  """

  class_names: tuple[str, ...]
  client_names: tuple[str, ...]
  labeled: sources.LabeledImages
  unlabeled: sources.Images
  shares: list[np.ndarray]
  test: sources.LabeledImages | None
  num_resized: int
  num_transparent: int
  files: list[str]
  unlabeled_labels: np.ndarray

  @property
  def num_images(self) -> int:
    """The number of all images."""
    num_test = 0 if self.test is None else len(self.test.labels)
    return len(self.labeled.labels) + len(self.unlabeled) + num_test


def read_image_folders(
  root: str,
  *,
  image_size: tuple[int, int] | None = None,
  max_default_size: int | None = None,
  default_size: tuple[int, int] | None = None,
  num_channels: int = 3,
  on_odd_size: image_files.OnOddSize = image_files.OnOddSize.REFUSE,
  background: image_files.Color = image_files.WHITE,
  max_bytes_in_memory: float = math.inf,
  has_clients: bool = True,
) -> ImageFolders:
  """Reads the images of a server, its clients and a test set.

  Args:
    image_size: Height and width; None for those of the server's first image.
    max_default_size: The largest height or width to take from that image; None
      for no limit.
    default_size: Height and width instead of that image's if it is larger, or
      if the server's images have several sizes. None for that image's.
    max_bytes_in_memory: If all clients' images are larger than this, they are
      kept in a file in `stored_images.folder()`.
  """
  root_path = pathlib.Path(root)
  # `os.path` functions do not raise for unreadable paths, unlike `pathlib`'s.
  if not os.path.isdir(root_path):
    raise image_listing.ImageFolderError(f'{root} is missing or is no folder')
  problems = []
  server = image_listing.list_folders(root_path / 'server', problems)
  clients = {}
  if has_clients:
    clients = image_listing.list_folders(
      root_path / 'clients', problems, are_clients=True
    )
  has_test = os.path.exists(root_path / 'test')
  test = (
    image_listing.list_folders(root_path / 'test', problems) if has_test else {}
  )
  if len(server) == 1:
    problems.append(
      image_listing.Problem(root_path / 'server', 'has one class only')
    )
  if clients and not any(clients.values()):
    problems.append(
      image_listing.Problem(root_path / 'clients', 'has no image in it')
    )
  problems.extend(
    image_listing.Problem(
      root_path / 'server' / name, 'has a name that is no Unicode'
    )
    for name in server
    if not image_listing.is_text(name)
  )
  problems.extend(
    image_listing.Problem(
      root_path / 'server' / name, 'has a line break in its name'
    )
    for name in server
    if '\n' in name
  )
  problems.extend(
    image_listing.Problem(
      root_path / 'test' / name, 'is no class of the server'
    )
    for name in test
    if name not in server
  )
  unlabeled_labels = measuring_labels.read(
    root_path / 'clients',
    list(itertools.chain(*clients.values())),
    list(server),
    problems,
  )
  image_listing.raise_if_any(root_path, problems)

  if image_size is None and default_size is not None:
    found_size = _find_common_size(itertools.chain(*server.values()))
    is_usable = found_size is not None and (
      max_default_size is None or max(found_size) <= max_default_size
    )
    image_size = found_size if is_usable else default_size
  if image_size is None:
    first_file = next(iter(server.values()))[0]
    try:
      image_size = image_files.read_size(first_file)
    except image_files.ImageFileError as error:
      problems.append(image_listing.Problem(first_file, str(error)))
    image_listing.raise_if_any(root_path, problems)
    if max_default_size is not None and max(image_size) > max_default_size:
      raise image_reading.LargeImageError(
        f'in {root}: {first_file.relative_to(root_path)} is'
        f' {image_size[0]}x{image_size[1]}; what is larger than'
        f' {max_default_size} is trained on only if that size is asked for'
      )

  form = image_reading.ImageForm(
    (*image_size, num_channels), on_odd_size, background
  )
  # Only clients' images may be too many for the memory.
  found = [
    image_reading.read(
      list(itertools.chain(*folders.values())),
      form,
      problems,
      max_bytes,
    )
    for folders, max_bytes in (
      (server, math.inf),
      (clients, max_bytes_in_memory),
      (test, math.inf),
    )
  ]
  image_listing.raise_if_any(root_path, problems)
  labeled, unlabeled, test_data = (each.images for each in found)
  ends = np.cumsum([len(files) for files in clients.values()], dtype=int)
  return ImageFolders(
    class_names=tuple(server),
    # Names of folders may be no Unicode, which no table could have.
    client_names=tuple(
      name.encode(errors='backslashreplace').decode() for name in clients
    ),
    labeled=_label(labeled, server, list(server)),
    unlabeled=unlabeled,
    shares=np.split(np.arange(len(unlabeled)), ends[:-1]),
    test=_label(test_data, test, list(server)) if has_test else None,
    num_resized=sum(each.num_resized for each in found),
    num_transparent=sum(each.num_transparent for each in found),
    files=[
      str(file.relative_to(root_path))
      for folders in (server, test, clients)
      for file in itertools.chain(*folders.values())
    ],
    unlabeled_labels=unlabeled_labels,
  )


def _label(
  images: np.ndarray,
  folders: Mapping[str, Sequence[pathlib.Path]],
  class_names: Sequence[str],
) -> sources.LabeledImages:
  """The images of class folders with their labels."""
  labels = np.repeat(
    np.array([class_names.index(name) for name in folders], np.int32),
    [len(files) for files in folders.values()],
  )
  return sources.LabeledImages(images, labels)


def read_client_folder(
  folder: str, form: image_reading.ImageForm
) -> image_reading.ReadImages:
  """Reads the images of one client, at any depth, to a file on disk."""
  root = pathlib.Path(folder)
  if not os.path.isdir(root):
    raise image_listing.ImageFolderError(f'{folder} is missing or is no folder')
  files = image_listing.list_tree(root)
  if not files:
    raise image_listing.ImageFolderError(f'{folder} has no image in it')
  problems = []
  # -1 keeps any number of images on disk.
  found = image_reading.read(files, form, problems, max_bytes_in_memory=-1)
  image_listing.raise_if_any(root, problems)
  return found


def _find_common_size(files: Iterable[pathlib.Path]) -> tuple[int, int] | None:
  """The common size of all images, or None."""
  common = None
  for size in image_reading.map_in_threads(_find_size, files):
    if common is None:
      common = size
    if size is None or size != common:
      return None
  return common


def _find_size(file: pathlib.Path) -> tuple[int, int] | None:
  try:
    return image_files.read_size(file)
  except image_files.ImageFileError:
    # The error is reported when all files are read.
    return None
