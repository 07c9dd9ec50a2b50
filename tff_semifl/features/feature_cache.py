# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Features on disk: computed once for the same images, weights and preparation.

A folder has for each key, a digest of the three,

    KEY.npy              float32 [images, feature_dimension], once all are there
    KEY.json             what they are of, and the SHA-256 of KEY.npy
    KEY.unfinished.npy   the same rows, so far as KEY.unfinished.json counts

and any of them may be removed at any time. Rows are on the disk before they are
counted, so that a kill or a power cut costs the last rows alone.
"""

from collections.abc import Iterator
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
from typing import Any, BinaryIO

import numpy as np

from tff_semifl.data import sources
from tff_semifl.features import backbone as backbone_lib
from tff_semifl.features import progress_lines
from tff_semifl.files import durable_files

# Part of the key: another format has other keys.
_FORMAT = 1
# Images that a kill costs at most.
_CHUNK = 16 * backbone_lib.BATCH_SIZE
_HASHED_AT_A_TIME = 2**24


def default_folder() -> pathlib.Path:
  """The folder in $XDG_CACHE_HOME, by default ~/.cache."""
  caches = os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'
  return pathlib.Path(caches) / 'tff_semifl' / 'features'


def compute(
  backbone: backbone_lib.Backbone,
  images: sources.Images,
  folder: pathlib.Path,
  say: progress_lines.Say = progress_lines.to_stderr,
) -> np.ndarray:
  """Features of all images, computed unless the folder has them.

  Memory holds a few hundred images and their features at a time. Several
  programs may use one folder: the second waits for the first.

  Args:
    backbone: Computes the features.
    images: uint8 [images, height, width, 1 or 3] in 0..255, in memory, mapped,
      or in a file.
    folder: Where features are kept.
    say: Called with lines on progress.

  Returns:
    float32 [images, feature_dimension], mapped from a file, read-only.

  Raises:
    ValueError: If images have another shape or dtype.
    durable_files.OutputError: If the folder cannot be written to.
  """
  if images.dtype != np.uint8 or len(images.shape) != 4 or not len(images):
    raise ValueError(
      f'found images of dtype {images.dtype} and shape {list(images.shape)};'
      ' give uint8 [images, height, width, 1 or 3] in 0..255, at least one'
    )
  entry = _Entry(folder, backbone, images)
  with contextlib.ExitStack() as stack:
    with _naming(folder):
      # Features tell much of photos, which are nobody else's business.
      folder.mkdir(mode=0o700, parents=True, exist_ok=True)
      stack.enter_context(entry.lock(say))
      found = entry.load(say)
    if found is not None:
      say(f'features: {len(found):,} images, computed before, in {folder}')
      return found
    entry.note_others(say)
    _fill(entry, backbone, images, say)
    with _naming(folder):
      found = entry.load(say)
  if found is None:
    raise durable_files.OutputError(
      f'{folder}: features are not as they were just written; check the disk'
    )
  return found


def digest_images(images: sources.Images) -> str:
  """SHA-256 of shape and pixels, in hexadecimal digits."""
  found = hashlib.sha256(repr(tuple(map(int, images.shape))).encode())
  for start in range(0, len(images), _CHUNK):
    chunk = np.asarray(images[start : start + _CHUNK])
    found.update(np.ascontiguousarray(chunk).data)
  return found.hexdigest()


class _Entry:
  """The files of one key."""

  def __init__(
    self,
    folder: pathlib.Path,
    backbone: backbone_lib.Backbone,
    images: sources.Images,
  ):
    self.facts = {
      'format': _FORMAT,
      'images': digest_images(images),
      'backbone': backbone.digest,
      'shape': [len(images), backbone.feature_dimension],
    }
    key = hashlib.sha256(json.dumps(self.facts).encode()).hexdigest()[:32]
    self.folder = folder
    self.features = folder / f'{key}.npy'
    self._description = folder / f'{key}.json'
    self.unfinished = folder / f'{key}.unfinished.npy'
    self._count = folder / f'{key}.unfinished.json'
    self._lock = folder / f'{key}.lock'
    self._name = backbone.name

  @contextlib.contextmanager
  def lock(self, say: progress_lines.Say) -> Iterator[None]:
    """Keeps other programs from the files."""
    with self._lock.open('w') as file:
      try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
      except BlockingIOError:
        say('features: another program computes them; waiting for it')
        fcntl.flock(file, fcntl.LOCK_EX)
      yield

  def load(self, say: progress_lines.Say) -> np.ndarray | None:
    """Returns the features, None if they are not there or are damaged."""
    if not self.features.exists():
      return None
    description = _read_json(self._description)
    if description.get('sha256') == _digest_file(self.features):
      return np.load(self.features, mmap_mode='r', allow_pickle=False)
    say(f'features: {self.features} is damaged; computing them again')
    self.features.unlink()
    return None

  def note_others(self, say: progress_lines.Say) -> None:
    """Says if there are features of these images by another backbone."""
    for path in self.folder.glob('*.json'):
      found = _read_json(path)
      if found.get('images') == self.facts['images'] and (
        found.get('backbone') != self.facts['backbone']
      ):
        say(
          f'features: those of the same images by {found.get("name")} with'
          ' other weights or preparation, or another size, are not used'
        )
        return

  def count(self) -> int:
    """Returns the rows that are on the disk, 0 if their file is damaged."""
    number = _read_json(self._count).get('num_done')
    total, dimension = self.facts['shape']
    if (
      not isinstance(number, int)
      or not 0 < number <= total
      or not self.unfinished.exists()
      or self.unfinished.stat().st_size
      != len(self.header) + (total * dimension * 4)
    ):
      return 0
    return number

  def set_count(self, number: int) -> None:
    """Records how many rows are on the disk."""
    self._write_json(self._count, {'num_done': number})

  @property
  def header(self) -> bytes:
    """What a file of all features begins with."""
    # NumPy pads it to a multiple of 64 bytes.
    fields = (
      f"{{'descr': '<f4', 'fortran_order': False, 'shape':"
      f' {tuple(self.facts["shape"])}, }}'
    )
    length = -(-(10 + len(fields) + 1) // 64) * 64
    return (
      b'\x93NUMPY\x01\x00'
      + (length - 10).to_bytes(2, 'little')
      + fields.ljust(length - 11).encode()
      + b'\n'
    )

  def complete(self) -> None:
    """Puts all features in place, once they are on the disk."""
    self._write_json(
      self._description,
      {
        **self.facts,
        'name': self._name,
        'sha256': _digest_file(self.unfinished),
      },
    )
    self.unfinished.rename(self.features)
    durable_files.sync(self.folder)
    self._count.unlink(missing_ok=True)

  def _write_json(self, path: pathlib.Path, content: dict[str, Any]) -> None:
    with durable_files.replacing(path) as file:
      file.write(json.dumps(content, indent=2).encode())


def _fill(
  entry: _Entry,
  backbone: backbone_lib.Backbone,
  images: sources.Images,
  say: progress_lines.Say,
) -> None:
  """Computes what is missing."""
  start = entry.count()
  if start:
    say(f'features: resumed after {start:,} of {len(images):,} images')
  progress = progress_lines.ProgressLines(len(images), say, num_before=start)
  with _naming(entry.folder):
    file = _open(entry, start)
  with file:
    while start < len(images):
      chunk = images[start : start + _CHUNK]
      rows = []
      for first in range(0, len(chunk), backbone_lib.BATCH_SIZE):
        batch = np.asarray(chunk[first : first + backbone_lib.BATCH_SIZE])
        rows.append(backbone.features(batch).astype('<f4', copy=False))
        progress.advance(len(batch))
      start += len(chunk)
      with _naming(entry.folder):
        file.writelines(each.data for each in rows)
        file.flush()
        os.fsync(file.fileno())
        entry.set_count(start)
  with _naming(entry.folder):
    entry.complete()
  progress.finish()


def _naming(
  folder: pathlib.Path,
) -> contextlib.AbstractContextManager[None]:
  return durable_files.naming(
    folder, 'with this mended, the same command goes on'
  )


def _open(entry: _Entry, num_done: int) -> BinaryIO:
  """Opens the file of unfinished features, at the first row that is missing."""
  total, dimension = entry.facts['shape']
  size = len(entry.header) + total * dimension * 4
  file = entry.unfinished.open('r+b' if num_done else 'wb')
  try:
    if not num_done:
      file.write(entry.header)
      file.flush()
      # All of the room at once, rather than a full disk after hours.
      os.posix_fallocate(file.fileno(), 0, size)
    file.seek(len(entry.header) + num_done * dimension * 4)
  except BaseException:
    file.close()
    raise
  return file


def _read_json(path: pathlib.Path) -> dict[str, Any]:
  """Returns what a file says, nothing if it is missing or damaged."""
  try:
    found = json.loads(path.read_bytes())
  except (OSError, ValueError):
    return {}
  return found if isinstance(found, dict) else {}


def _digest_file(path: pathlib.Path) -> str:
  found = hashlib.sha256()
  with path.open('rb') as file:
    while content := file.read(_HASHED_AT_A_TIME):
      found.update(content)
  return found.hexdigest()
