# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Features on disk, computed once for the same images and backbone."""

import contextlib
import os
import pathlib

import numpy as np

from tff_semifl.data import sources
from tff_semifl.features import backbone as backbone_lib
from tff_semifl.features import cache_entry
from tff_semifl.features import progress_lines
from tff_semifl.files import durable_files

# The most images whose features a kill loses.
_CHUNK = 16 * backbone_lib.BATCH_SIZE
# Files of features that this process has computed itself, and said so.
_COMPUTED = set[pathlib.Path]()


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
  """Features of all images, from the cache or computed.

  Memory holds a few hundred images and their features at a time. Programs may
  share a folder: of two that compute, the second waits for the first. A
  complete cache is only read.

  Args:
    images: uint8 [images, height, width, 1 or 3] in 0..255, in memory, mapped,
      or in a file.

  Returns:
    float32 [images, feature_dimension], mapped from a file, read-only.
  """
  if images.dtype != np.uint8 or len(images.shape) != 4 or not len(images):
    raise ValueError(
      f'found images of dtype {images.dtype} and shape {list(images.shape)};'
      ' give uint8 [images, height, width, 1 or 3] in 0..255, at least one'
    )
  entry = cache_entry.Entry(folder, backbone, images)
  with contextlib.ExitStack() as stack:
    with _naming(folder):
      found = entry.load(say)
      if found is None:
        # Readable by the user alone: features reveal much of photos.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stack.enter_context(entry.lock(say))
        # Another program may have computed them since.
        found = entry.load(lambda _: None)
    if found is not None:
      if entry.path not in _COMPUTED:
        say(f'features: {len(found):,} images, computed before, in {folder}')
      return found
    entry.note_others(say)
    _fill(entry, backbone, images, say)
    _COMPUTED.add(entry.path)
    with _naming(folder):
      found = entry.load(say)
  if found is None:
    raise durable_files.OutputError(
      f'{folder}: features are not as they were just written; check the disk'
    )
  return found


def load(
  backbone: backbone_lib.Backbone,
  images: sources.Images,
  folder: pathlib.Path,
  say: progress_lines.Say = progress_lines.to_stderr,
) -> np.ndarray | None:
  """Features of all images from the cache; None if it lacks any of them.

  Args:
    folder: The folder of the cache, which need not exist.
    say: Called with a line if the file is damaged.
  """
  entry = cache_entry.Entry(folder, backbone, images)
  with _naming(folder):
    return entry.load(say)


def _fill(
  entry: cache_entry.Entry,
  backbone: backbone_lib.Backbone,
  images: sources.Images,
  say: progress_lines.Say,
) -> None:
  start = entry.count()
  if start:
    say(f'features: resumed after {start:,} of {len(images):,} images')
  progress = progress_lines.ProgressLines(len(images), say, num_before=start)
  with _naming(entry.folder):
    file = entry.open(start)
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
