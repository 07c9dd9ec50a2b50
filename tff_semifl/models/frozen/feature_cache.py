# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A cache of features on disk.

Each combination of a data set and a backbone has a folder, named by a digest of
images, weights and preparation. Each file in a folder, `00000.npz`, `00001.npz`
and so on, has the features of 512 images: an array `features`, float32 [images,
feature_dimension]. A file is a zip archive, whose checksum reveals damage. Any
file may be removed at any time.
"""

from collections.abc import Callable
import hashlib
import json
import os
import pathlib
import tempfile

import numpy as np
import tqdm

from tff_semifl.data import sources
from tff_semifl.files import durable_files
from tff_semifl.models.frozen import backbone as backbone_lib

# The version of the format, part of the key.
_FORMAT = 3
# Images per file; a killed process loses the features of at most one file.
_CHUNK = 16 * backbone_lib.BATCH_SIZE

# Folders whose features this process has computed and reported.
_COMPUTED = set[pathlib.Path]()

Say = Callable[[str], None]


def default_folder() -> pathlib.Path:
  """The default folder of the cache, in $XDG_CACHE_HOME or else ~/.cache."""
  caches = os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'
  return pathlib.Path(caches) / 'tff_semifl' / 'features'


def compute(
  backbone: backbone_lib.Backbone,
  images: sources.Images,
  folder: pathlib.Path,
  say: Say,
  *,
  quiet: bool = False,
) -> np.ndarray:
  """The features of all images; computes features that the cache lacks.

  Several programs may share a folder. Nothing is written if the cache has all
  features. Images are uint8 [images, height, width, 1 or 3], at least one; the
  result is float32 [images, feature_dimension]. `quiet` hides the progress bar.
  """
  own = folder / _find_key(backbone, images)
  found = _read(own, backbone, len(images), say)
  num_found = sum(map(len, found.values()))
  if num_found == len(images):
    if own not in _COMPUTED:
      say(f'features: {len(images):,} images, computed before, in {folder}')
    return np.concatenate([*found.values()])
  if num_found:
    say(f'features: resumed after {num_found:,} of {len(images):,} images')
  else:
    say(f'features: {len(images):,} images by {backbone.name}')
  chunks = []
  hides = quiet or None  # With None, the bar is shown on terminals only.
  with (
    tqdm.tqdm(None, 'features', len(images), disable=hides) as bar,
    durable_files.naming(folder, 'with this mended, the same command goes on'),
  ):
    # Only the user may read the folder, because features reveal much of photos.
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    own.mkdir(mode=0o700, exist_ok=True)
    for number, start in enumerate(range(0, len(images), _CHUNK)):
      features = found.get(number)
      if features is None:
        chunk = np.asarray(images[start : start + _CHUNK])
        features = backbone.features(chunk)
        _save(own / f'{number:05}.npz', features)
      bar.update(len(features))
      chunks.append(features)
  _COMPUTED.add(own)
  return np.concatenate(chunks)


def _find_key(backbone: backbone_lib.Backbone, images: sources.Images) -> str:
  """The folder name for a backbone's features of images; reads all images."""
  found = hashlib.sha256(repr(tuple(map(int, images.shape))).encode())
  for start in range(0, len(images), _CHUNK):
    chunk = np.asarray(images[start : start + _CHUNK])
    found.update(np.ascontiguousarray(chunk).data)
  facts = [_FORMAT, found.hexdigest(), backbone.digest]
  return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


def _read(
  own: pathlib.Path, backbone: backbone_lib.Backbone, num_images: int, say: Say
) -> dict[int, np.ndarray]:
  """The features of each chunk with an intact file, by chunk number."""
  found = {}
  for number, start in enumerate(range(0, num_images, _CHUNK)):
    path = own / f'{number:05}.npz'
    shape = (min(_CHUNK, num_images - start), backbone.feature_dimension)
    try:
      with np.load(path, allow_pickle=False) as file:
        features = file['features']
      if features.shape != shape or features.dtype != np.float32:
        raise ValueError(f'has {features.dtype} of shape {features.shape}')
      found[number] = features
    except FileNotFoundError:
      pass
    # NumPy and zipfile raise errors of many types for damaged files.
    except Exception as error:
      say(f'features: {path} is damaged ({error}); computing them again')
  return found


def _save(path: pathlib.Path, features: np.ndarray) -> None:
  # In a temporary folder, because another program may compute the same
  # features.
  with tempfile.TemporaryDirectory(dir=path.parent) as folder:
    unfinished = pathlib.Path(folder) / path.name
    with durable_files.replacing(unfinished) as file:
      np.savez(file, features=features)
    unfinished.rename(path)
  durable_files.sync(path.parent)
