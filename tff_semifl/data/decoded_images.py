# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A cache on disk of decoded images of large files.

It is an SQLite database in the user's cache folder, and may be deleted at any
time. Errors of the database, such as a full disk, end its use.
"""

from collections.abc import Sequence
import contextlib
import functools
import hashlib
import inspect
import os
import pathlib
import sqlite3
from typing import Any

import numpy as np
import PIL
import tensorflow as tf

from tff_semifl.data import image_files
from tff_semifl.data import resizing

# Smaller files decode about as fast as a lookup takes.
_LEAST_FILE_BYTES = 2**17
_MAX_BYTES = 8 * 2**30
_CREATE = """
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS images (
    key BLOB PRIMARY KEY, pixels BLOB, is_resized INTEGER,
    is_transparent INTEGER
  );
"""


def path() -> pathlib.Path:
  """The database, in $XDG_CACHE_HOME, by default ~/.cache."""
  caches = os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'
  return pathlib.Path(caches) / 'tff_semifl' / 'decoded_images.sqlite'


class DecodedImages(contextlib.AbstractContextManager):
  """The cache, opened by the first key that is not None; a context manager.

  Attributes:
    num_added: Images added to the cache.
  """

  def __init__(self):
    self.num_added = 0
    self._database = None
    self._is_usable = True

  def __exit__(self, *error: object) -> None:
    if self._database is not None:
      self._database.close()

  def get(
    self, key: bytes | None, shape: Sequence[int]
  ) -> image_files.DecodedImage | None:
    """A cached image of a shape, or None; `key` is from `find_key`."""
    rows = self._execute(
      'SELECT pixels, is_resized, is_transparent FROM images WHERE key = ?', key
    )
    if not rows or len(rows[0][0]) != np.prod(shape):
      return None
    ((pixels, is_resized, is_transparent),) = rows
    return image_files.DecodedImage(
      np.frombuffer(pixels, np.uint8).reshape(shape),
      bool(is_resized),
      bool(is_transparent),
    )

  def put(self, key: bytes | None, image: image_files.DecodedImage) -> None:
    """Adds an image under a `key` from `find_key`."""
    added = self._execute(
      'INSERT OR REPLACE INTO images VALUES (?, ?, ?, ?) RETURNING 1',
      key,
      np.ascontiguousarray(image.pixels).tobytes(),
      image.is_resized,
      image.is_transparent,
    )
    self.num_added += len(added)

  def _execute(
    self, statement: str, key: bytes | None, *values: object
  ) -> list[Any]:
    """The resulting rows; none without a key or after an error."""
    if key is None or not self._is_usable:
      return []
    try:
      if self._database is None:
        self._database = _open()
      return self._database.execute(statement, (key, *values)).fetchall()
    except (OSError, sqlite3.Error):
      self._is_usable = False
      return []


def find_key(file: pathlib.Path, form: tuple[object, ...]) -> bytes | None:
  """The cache key of a file's image; None if it is not worth caching."""
  try:
    found = os.stat(file)
  except OSError:
    return None
  if found.st_size < _LEAST_FILE_BYTES:
    return None
  # The time of change (ctime) reveals edits that preserve the time of
  # modification.
  version = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
  what = (os.path.abspath(file), version, form, _find_version_of_decoding())
  return hashlib.sha256(repr(what).encode(errors='surrogateescape')).digest()


@functools.cache
def _find_version_of_decoding() -> str:
  sources = map(inspect.getsource, (image_files, resizing))
  return '\n'.join([PIL.__version__, tf.__version__, *sources])


def _open() -> sqlite3.Connection:
  """Opens or creates the database; empties one that is too large."""
  file = path()
  # Photos are private.
  file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
  database = sqlite3.connect(file, isolation_level=None)
  database.executescript(_CREATE)
  if file.stat().st_size > _MAX_BYTES:
    database.executescript('DELETE FROM images; VACUUM;')
  return database
