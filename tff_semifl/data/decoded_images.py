# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Decoded images of large files, kept on disk for the next start.

They are in one SQLite database in the user's folder for caches. It may be
removed at any time, and without it images are decoded again.
"""

from collections.abc import Callable, Sequence
import contextlib
import functools
import hashlib
import inspect
import os
import pathlib
import sqlite3
from typing import Any, TypeVar

import numpy as np
import PIL

from tff_semifl.data import image_depth
from tff_semifl.data import image_files

# Smaller files are decoded about as fast as they are looked up.
_LEAST_FILE_BYTES = 2**17
_MAX_BYTES = 8 * 2**30
# After so many seconds another program is taken to be in the way for long.
_MAX_WAIT = 10.0
# An interrupted start loses no more.
_NUM_IN_TRANSACTION = 64

_T = TypeVar('_T')


def path() -> pathlib.Path:
  """Returns the database: in $XDG_CACHE_HOME, by default ~/.cache."""
  caches = os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'
  return pathlib.Path(caches) / 'tff_semifl' / 'decoded_images.sqlite'


class DecodedImages:
  """The images that are kept, a context manager.

  If something goes wrong with the database, such as a full disk, images are
  decoded again and not kept. That is no error.

  Attributes:
    num_added: Images that were not kept before.
  """

  def __init__(self):
    """Opens nothing yet: most users have no large files."""
    self.num_added = 0
    self._database = None
    self._is_usable = True

  def __enter__(self) -> 'DecodedImages':
    return self

  def __exit__(self, *error: object) -> None:
    if self._database is None:
      return
    with contextlib.suppress(sqlite3.Error):
      self._database.commit()
    with contextlib.suppress(sqlite3.Error):
      self._database.close()

  def get(
    self, key: bytes | None, shape: Sequence[int]
  ) -> image_files.DecodedImage | None:
    """Returns an image, None if it is not kept.

    Args:
      key: From `find_key`.
      shape: That of the image.
    """
    if key is None:
      return None
    rows = self._execute(
      'SELECT pixels, is_resized, is_transparent FROM images WHERE key = ?',
      (key,),
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
    """Keeps an image.

    Args:
      key: From `find_key`.
      image: The image.
    """
    if key is None:
      return
    added = self._execute(
      'INSERT OR REPLACE INTO images VALUES (?, ?, ?, ?) RETURNING 1',
      (
        key,
        np.ascontiguousarray(image.pixels).tobytes(),
        image.is_resized,
        image.is_transparent,
      ),
    )
    self.num_added += len(added)
    if added and self.num_added % _NUM_IN_TRANSACTION == 0:
      self._try(self._commit)

  def _commit(self, database: sqlite3.Connection) -> None:
    database.commit()
    self._is_usable = path().stat().st_size <= _MAX_BYTES

  def _execute(self, statement: str, values: tuple[object, ...]) -> list[Any]:
    """Returns rows, none if something is wrong with the database."""
    return (
      self._try(lambda database: database.execute(statement, values).fetchall())
      or []
    )

  def _try(self, function: Callable[[sqlite3.Connection], _T]) -> _T | None:
    """Calls a function with the database, never again if something is wrong."""
    if not self._is_usable:
      return None
    try:
      if self._database is None:
        self._database = _open()
      return function(self._database)
    except (OSError, sqlite3.Error):
      self._is_usable = False
      return None


def find_key(file: pathlib.Path, form: tuple[object, ...]) -> bytes | None:
  """Returns what a file's image is kept by, None if it is not to be kept.

  Args:
    file: The file.
    form: All that `image_files.read_image` is told of the image's form.
  """
  try:
    found = os.stat(file)
  except OSError:
    return None
  if found.st_size < _LEAST_FILE_BYTES:
    return None
  # A file that has changed has another time of change, whatever it says of its
  # content's.
  version = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
  what = (os.path.abspath(file), version, form, _find_version_of_decoding())
  return hashlib.sha256(repr(what).encode(errors='surrogateescape')).digest()


@functools.cache
def _find_version_of_decoding() -> str:
  """Returns a digest of all that decodes images."""
  modules = map(inspect.getsource, (image_files, image_depth))
  everything = '\n'.join([PIL.__version__, *modules])
  return hashlib.sha256(everything.encode()).hexdigest()


def _open() -> sqlite3.Connection:
  """Opens or creates the database, with room for what may be added."""
  file = path()
  # Photos are nobody else's business.
  file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
  database = sqlite3.connect(file, timeout=_MAX_WAIT)
  database.execute(
    'CREATE TABLE IF NOT EXISTS images (key BLOB PRIMARY KEY, pixels BLOB,'
    ' is_resized INTEGER, is_transparent INTEGER)'
  )
  if file.stat().st_size > _MAX_BYTES:
    # The older half, by the order in which they came.
    database.execute(
      'DELETE FROM images WHERE rowid <= (SELECT (min(rowid) + max(rowid)) / 2'
      ' FROM images)'
    )
    database.commit()
    database.execute('VACUUM')
  return database
