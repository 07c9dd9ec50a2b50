# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Converts a user's images and feature vectors to arrays.

`field` is the name of the user's argument or array. Error messages say what the
field contains, and what is expected.
"""

from collections.abc import Iterator, Mapping, Sequence
import os
from typing import Any

import numpy as np
import PIL.Image
import tensorflow as tf

_EXPECTED = (
  'give an array [images, height, width, channels] or a tf.data.Dataset'
)
_EXPECTED_FEATURES = 'give floats [number, features]'
_CHANNELS = (1, 3)
# The Pillow modes that NumPy converts to gray levels or to red, green and blue.
_LEVELS = ('L', 'RGB', 'I', 'I;16', 'F')
# Data in 0..255 must have at least one pixel of this level or above.
_BRIGHT = 64
# The sum of the squares of 1e8 such features is below the largest float32.
_LARGEST_FEATURE = 1e15


def check_form(field: str, data: Any) -> None:
  """Raises `ValueError` for a path, PIL image, iterator or `ClientData`."""
  problem = None
  if isinstance(data, str | os.PathLike):
    problem = (
      f'the path {os.fspath(data)!r}; read the images first, or use the task'
      ' image_folder'
    )
  elif isinstance(data, PIL.Image.Image):
    problem = 'a single PIL image; give a list of them'
  elif isinstance(data, Iterator):
    problem = f'a {type(data).__name__}, which can be read once; {_EXPECTED}'
  elif is_client_data(data):
    problem = 'a ClientData; give it as clients'
  if problem is not None:
    raise ValueError(f'{field}: found {problem}')


def is_client_data(data: Any) -> bool:
  """Whether `data` is a `tff.simulation.datasets.ClientData`."""
  # No `isinstance`, as prediction does not import TFF.
  return hasattr(data, 'create_tf_dataset_for_client')


def stack(field: str, images: Any) -> np.ndarray:
  """Stacks images of one size into an array [images, ...] of any dtype."""
  check_form(field, images)
  if isinstance(images, Mapping):
    raise ValueError(f'{field}: found a mapping; {_EXPECTED}')
  is_object = isinstance(images, np.ndarray) and images.dtype.kind == 'O'
  if not is_object and not isinstance(images, Sequence):
    array = np.asarray(images)
    if not array.ndim:
      raise ValueError(f'{field}: found {images!r}; {_EXPECTED}')
    return array
  fields = [f'{field}[{index}]' for index in range(len(images))]
  arrays = [*map(_to_array, fields, images)]
  shapes = sorted({array.shape for array in arrays})
  if len(shapes) > 1:
    raise ValueError(
      f'{field}: found arrays of different shapes, {shapes[0]} and'
      f' {shapes[1]}; give images of one size, without their labels'
    )
  if shapes and len(shapes[0]) > 1:
    # Feature vectors have no white level.
    check_scales(fields, arrays)
  return np.stack(arrays) if arrays else np.empty(0)


def _to_array(field: str, image: Any) -> np.ndarray:
  if isinstance(image, PIL.Image.Image) and (
    image.has_transparency_data or image.mode not in _LEVELS
  ):
    raise ValueError(
      f'{field}: found a PIL image of mode {image.mode}; give opaque ones in'
      ' gray or RGB, as PIL.Image.alpha_composite and convert make them'
    )
  return np.asarray(image)


def check_scales(fields: Sequence[str], arrays: Sequence[np.ndarray]) -> None:
  """Raises `ValueError` if some arrays are in 0..1 and others in 0..255."""
  small = large = None
  for field, array in zip(fields, arrays, strict=True):
    if not array.size or array.dtype.kind not in 'uif':
      continue
    most = array.max()
    if array.dtype.kind == 'f' and 0 < most <= 1:
      small = small or field
    # Normalized images also have values above 1; `_to_levels` rejects them.
    elif most >= _BRIGHT:
      large = large or field
  if small and large:
    raise ValueError(
      f'{small}: found floats in 0..1, but larger pixels in {large}; give all'
      ' in 0..1, or all in 0..255'
    )


def convert_examples(field: str, examples: Any) -> np.ndarray:
  """Converts images, or feature vectors if each example is a vector."""
  array = stack(field, examples)
  if array.ndim == 2:
    return convert_features(field, array)
  return convert(field, array)


def convert(field: str, images: Any) -> np.ndarray:
  """Converts images to uint8 [images, height, width, channels] in 0..255.

  Pixels are integers in 0..255, or floats in 0..255 or 0..1. Gray images may
  lack the channel axis.
  """
  return _to_levels(field, _add_channels(field, stack(field, images)))


def _add_channels(field: str, images: np.ndarray) -> np.ndarray:
  """Adds a channel axis to gray images, and checks the shape."""
  if not len(images):
    raise ValueError(f'{field}: found no images; give one at least')
  shape = images.shape
  found = f'{field}: found an array of shape {shape}'
  if len(shape) == 3:
    images = images[..., np.newaxis]
  elif len(shape) != 4:
    raise ValueError(f'{found}; {_EXPECTED}')
  elif shape[3] not in _CHANNELS:
    remedy = 'give 1 for gray or 3 for opaque color, in the last axis'
    if shape[1] in _CHANNELS:
      remedy = 'give np.moveaxis(images, 1, -1), with channels in the last axis'
    raise ValueError(f'{found}, with {shape[3]} channels; {remedy}')
  if 0 in images.shape:
    raise ValueError(f'{found}, without a pixel; {_EXPECTED}')
  return images


def _to_levels(field: str, images: np.ndarray) -> np.ndarray:
  if images.dtype.kind not in 'uif':
    raise ValueError(
      f'{field}: found pixels of dtype {images.dtype}; give uint8 or floats'
    )
  least, most = images.min(), images.max()
  found = f'{field}: found pixels in {least:g}..{most:g}'
  if not (least >= 0 and most <= 255):
    raise ValueError(f'{found}; give them in 0..255 or 0..1, not normalized')
  is_float = images.dtype.kind == 'f'
  if is_float and most <= 1:
    return np.rint(images * 255).astype(np.uint8)
  if most < _BRIGHT:
    raise ValueError(f'{found}, all nearly black; white must be 255, or 1.0')
  return (np.rint(images) if is_float else images).astype(np.uint8)


def convert_features(field: str, features: np.ndarray) -> np.ndarray:
  """Converts floats [number, features] to float32; copies only if needed."""
  found = f'{field}: found {features.dtype} of shape {features.shape}'
  if features.ndim != 2 or features.dtype.kind != 'f':
    raise ValueError(f'{found}; {_EXPECTED_FEATURES}, or images')
  if 0 in features.shape:
    raise ValueError(f'{found}; {_EXPECTED_FEATURES}, at least one of each')
  with np.errstate(over='ignore'):
    converted = np.ascontiguousarray(features, np.float32)
  _check_features(field, features, np.isfinite(converted), 'finite float32')
  return converted


def check_server_features(field: str, features: np.ndarray) -> None:
  """Raises `ValueError` if the server cannot train on its features.

  Clients check their own features, and leave out unusable examples.
  """
  is_usable = np.abs(features) <= _LARGEST_FEATURE
  _check_features(field, features, is_usable, f'up to {_LARGEST_FEATURE:g}')
  if (features.min(axis=0) == features.max(axis=0)).all():
    raise ValueError(
      f'{field}: found the same values in all {len(features)} feature vectors'
    )


def _check_features(
  field: str, features: np.ndarray, is_usable: np.ndarray, expected: str
) -> None:
  if not is_usable.all():
    row, column = np.argwhere(~is_usable)[0]
    raise ValueError(
      f'{field}: found {features[row, column]:g} in row {row}, column {column};'
      f' give {expected} numbers'
    )


def measure_features(
  features: np.ndarray,
) -> tuple[tuple[float, ...], tuple[float, ...]]:
  """The mean and standard deviation of each feature, as two tuples.

  For the server's features only: clients' features are private. A constant
  feature has deviation 1, so that callers can divide by deviations.
  """
  mean = features.mean(axis=0, dtype=np.float64)
  is_constant = features.min(axis=0) == features.max(axis=0)
  deviation = np.where(is_constant, 1.0, features.std(axis=0, dtype=np.float64))
  return tuple(mean.tolist()), tuple(deviation.tolist())


def read_dataset(
  field: str, dataset: tf.data.Dataset, *, labeled: bool
) -> tuple[np.ndarray, np.ndarray | None]:
  """Reads the images and labels of a dataset; labels are None unless `labeled`.

  Elements, batched or not, are (image, label) or mappings. A mapping has the
  keys 'image' (or 'pixels', as in TFF's data sets) and 'label'. Unless
  `labeled`, labels may be missing.
  """
  if dataset.cardinality() == tf.data.INFINITE_CARDINALITY:
    raise ValueError(f'{field}: found a dataset without end')
  dataset = dataset.map(lambda *parts: _pick(field, parts, labeled))
  try:
    if _is_batched(dataset.element_spec):
      dataset = dataset.unbatch()
    elements = list(dataset.as_numpy_iterator())
  except (ValueError, tf.errors.OpError) as error:
    reason = str(error).strip().partition('\n')[0]
    raise ValueError(
      f'{field}: found a dataset that cannot be read ({reason})'
    ) from error
  images = stack(field, [element[0] for element in elements])
  if not labeled:
    return images, None
  return images, np.asarray([element[1] for element in elements])


def _pick(field: str, parts: tuple[Any, ...], labeled: bool) -> tuple[Any, ...]:
  """The (image, label) of an element, or (image,) unless `labeled`."""
  found = parts[0] if len(parts) == 1 else parts
  num_needed = 2 if labeled else 1
  if isinstance(found, Mapping):
    names = ['image' if 'image' in found else 'pixels', 'label'][:num_needed]
    if all(name in found for name in names):
      return tuple(found[name] for name in names)
    what = f'with {", ".join(found)}'
  else:
    found = found if isinstance(found, tuple) else (found,)
    if num_needed <= len(found) <= 2 and not isinstance(found[0], Mapping):
      return found[:num_needed]
    what = f'of {len(found)} parts'
  raise ValueError(
    f'{field}: found elements {what}; map them to'
    f' {"(image, label)" if labeled else "images"}'
  )


def _is_batched(spec: tuple[tf.TensorSpec, ...]) -> bool:
  image = spec[0].shape
  if image.rank == 2:
    # Either a batch of feature vectors, or a gray image without channels.
    return image[0] is None and image[1] is not None
  if image.rank != 3:
    return image.rank == 4
  if len(spec) == 2 and spec[1].shape.rank == 0:
    return False
  # Either a batch of gray images without channels, or an image with channels.
  return image[-1] is not None and image[-1] not in _CHANNELS


def measure_pixels(
  images: np.ndarray,
) -> tuple[tuple[float, ...], tuple[float, ...]]:
  """The mean and standard deviation of each channel, in 0..1, as two tuples.

  For the server's images only: clients' images are private. Deviations are at
  least one gray level, so that callers can divide by deviations.
  """
  levels = np.arange(256) / 255
  means, standard_deviations = [], []
  for channel in range(images.shape[-1]):
    # A histogram of levels is exact, and needs no copy of the images in floats.
    counts = np.zeros(256, np.int64)
    for image in images:
      counts += np.bincount(image[..., channel].ravel(), minlength=256)
    mean = np.average(levels, weights=counts)
    variance = np.average((levels - mean) ** 2, weights=counts)
    means.append(float(mean))
    standard_deviations.append(max(float(np.sqrt(variance)), 1 / 255))
  return tuple(means), tuple(standard_deviations)
