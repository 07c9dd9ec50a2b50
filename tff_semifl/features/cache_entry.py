# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The files of a feature cache, which survive a kill or a power cut.

A folder has for each key, a digest of images, weights and preparation,

    KEY.npy              float32 [images, feature_dimension], once complete
    KEY.json             what the features are of, and the SHA-256 of KEY.npy
    KEY.unfinished.npy   the rows computed, counted by KEY.unfinished.json

and any file may be removed at any time. Rows are on the disk before they are
counted.
"""

from collections.abc import Iterator
import contextlib
import fcntl
import hashlib
import io
import json
import os
import pathlib
from typing import Any, BinaryIO

import numpy as np

from tff_semifl.data import sources
from tff_semifl.features import backbone as backbone_lib
from tff_semifl.features import progress_lines
from tff_semifl.files import durable_files

# Part of the key, so that a change of format changes all keys.
_FORMAT = 1
_IMAGES_AT_A_TIME = 512
_BYTES_AT_A_TIME = 2**24


class Entry:
  """The cached features of some images by a backbone.

  Attributes:
    folder: The folder of all keys.
  """

  def __init__(
    self,
    folder: pathlib.Path,
    backbone: backbone_lib.Backbone,
    images: sources.Images,
  ):
    """Computes the key, for which all images are read.

    Args:
      images: uint8 [images, height, width, channels].
    """
    self._facts = {
      'format': _FORMAT,
      'images': digest_images(images),
      'backbone': backbone.digest,
      'shape': [len(images), backbone.feature_dimension],
    }
    key = hashlib.sha256(json.dumps(self._facts).encode()).hexdigest()[:32]
    self.folder = folder
    self._features = folder / f'{key}.npy'
    self._description = folder / f'{key}.json'
    self._unfinished = folder / f'{key}.unfinished.npy'
    self._count = folder / f'{key}.unfinished.json'
    self._lock = folder / f'{key}.lock'
    self._name = backbone.name

  @property
  def path(self) -> pathlib.Path:
    """The file of the features."""
    return self._features

  @contextlib.contextmanager
  def lock(self, say: progress_lines.Say) -> Iterator[None]:
    """Locks the files against other programs."""
    with self._lock.open('w') as file:
      try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
      except BlockingIOError:
        say('features: another program computes them; waiting for it')
        fcntl.flock(file, fcntl.LOCK_EX)
      yield

  def load(self, say: progress_lines.Say) -> np.ndarray | None:
    """The features, None if they are missing or damaged.

    Nothing is written: another program may be replacing them.
    """
    if not self._features.exists():
      return None
    description = _read_json(self._description)
    if description.get('sha256') == _digest_file(self._features):
      return np.load(self._features, mmap_mode='r', allow_pickle=False)
    say(f'features: {self._features} is damaged; computing them again')
    return None

  def note_others(self, say: progress_lines.Say) -> None:
    """Says if another backbone's features of these images are cached."""
    for path in self.folder.glob('*.json'):
      found = _read_json(path)
      if found.get('images') == self._facts['images'] and (
        found.get('backbone') != self._facts['backbone']
      ):
        say(
          f'features: those of the same images by {found.get("name")} with'
          ' other weights or preparation, or another size, are not used'
        )
        return

  def count(self) -> int:
    """The number of rows on the disk, 0 if their file is damaged."""
    number = _read_json(self._count).get('num_done')
    if (
      not isinstance(number, int)
      or not 0 < number <= self._facts['shape'][0]
      or not self._unfinished.exists()
      or self._unfinished.stat().st_size != self._position(None)
    ):
      return 0
    return number

  def set_count(self, number: int) -> None:
    """Records how many rows are on the disk."""
    self._write_json(self._count, {'num_done': number})

  def open(self, num_done: int) -> BinaryIO:
    """Opens the file of unfinished rows at the first missing row."""
    file = self._unfinished.open('r+b' if num_done else 'wb')
    try:
      if not num_done:
        file.write(self._header)
        file.flush()
        # Reserves all room now: better than a full disk after hours.
        os.posix_fallocate(file.fileno(), 0, self._position(None))
      file.seek(self._position(num_done))
    except BaseException:
      file.close()
      raise
    return file

  def _position(self, row: int | None) -> int:
    """The offset of a row in the file; None for the file's end."""
    total, dimension = self._facts['shape']
    row = total if row is None else row
    return len(self._header) + row * dimension * 4

  @property
  def _header(self) -> bytes:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
      header,
      {
        'descr': '<f4',
        'fortran_order': False,
        'shape': tuple(self._facts['shape']),
      },
    )
    return header.getvalue()

  def complete(self) -> None:
    """Publishes all features, once they are on the disk."""
    self._write_json(
      self._description,
      {
        **self._facts,
        'name': self._name,
        'sha256': _digest_file(self._unfinished),
      },
    )
    self._unfinished.rename(self._features)
    durable_files.sync(self.folder)
    self._count.unlink(missing_ok=True)

  def _write_json(self, path: pathlib.Path, content: dict[str, Any]) -> None:
    with durable_files.replacing(path) as file:
      file.write(json.dumps(content, indent=2).encode())


def digest_images(images: sources.Images) -> str:
  """SHA-256 of shape and pixels, in hexadecimal digits."""
  found = hashlib.sha256(repr(tuple(map(int, images.shape))).encode())
  for start in range(0, len(images), _IMAGES_AT_A_TIME):
    chunk = np.asarray(images[start : start + _IMAGES_AT_A_TIME])
    found.update(np.ascontiguousarray(chunk).data)
  return found.hexdigest()


def _read_json(path: pathlib.Path) -> dict[str, Any]:
  """The content of a JSON file, empty if it is missing or damaged."""
  try:
    found = json.loads(path.read_bytes())
  except (OSError, ValueError):
    return {}
  return found if isinstance(found, dict) else {}


def _digest_file(path: pathlib.Path) -> str:
  found = hashlib.sha256()
  with path.open('rb') as file:
    while content := file.read(_BYTES_AT_A_TIME):
      found.update(content)
  return found.hexdigest()
