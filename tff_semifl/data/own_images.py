# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Converts a user's images to uint8 arrays.

Each function takes the name of the field that the images were given as. Errors
say what was found in the field, what is expected, and what to do.
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
_CHANNELS = (1, 3)
# Pillow's modes that NumPy converts to gray levels or red, green and blue.
_LEVELS = ('L', 'RGB', 'I', 'I;16', 'F')
# A data set in 0..255 has at least one pixel of this level or above.
_BRIGHT = 64


def check_form(field: str, data: Any) -> None:
  """Raises `ValueError` for a path, PIL image, iterator or `ClientData`."""
  problem = None
  if isinstance(data, str | os.PathLike):
    problem = (
      f'the path {os.fspath(data)!r}; read the images first and {_EXPECTED}, or'
      ' use the task image_folder'
    )
  elif isinstance(data, PIL.Image.Image):
    problem = 'a single PIL image; give a list of them'
  elif isinstance(data, Iterator):
    problem = (
      f'a {type(data).__name__}, which can be read only once; collect its items'
      f' and {_EXPECTED}'
    )
  elif is_client_data(data):
    problem = (
      'a ClientData; give it as clients, or take'
      ' create_tf_dataset_from_all_clients() of it'
    )
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
  if _is_labeled(arrays):
    raise ValueError(
      f'{field}: found a pair of arrays of shapes {arrays[0].shape} and'
      f' {arrays[1].shape}, as images and their labels have; give the images'
      ' alone'
    )
  if len(shapes) > 1:
    raise ValueError(
      f'{field}: found images of different shapes, {shapes[0]} and'
      f' {shapes[1]}; resize them to one size, with tf.image.resize say'
    )
  if shapes and len(shapes[0]) > 1:
    # Features have no white level.
    check_scales(fields, arrays)
  return np.stack(arrays) if arrays else np.empty(0)


def _to_array(field: str, image: Any) -> np.ndarray:
  if isinstance(image, PIL.Image.Image):
    if image.has_transparency_data:
      raise ValueError(
        f'{field}: found a PIL image of mode {image.mode} with transparency;'
        ' put it on a color: rgba = image.convert("RGBA"), and'
        ' PIL.Image.alpha_composite(PIL.Image.new("RGBA", rgba.size, "white"),'
        ' rgba).convert("RGB")'
      )
    if image.mode not in _LEVELS:
      raise ValueError(
        f'{field}: found a PIL image of mode {image.mode}; give'
        " image.convert('RGB')"
      )
  return np.asarray(image)


def check_scales(fields: Sequence[str], arrays: Sequence[np.ndarray]) -> None:
  """Raises `ValueError` if some arrays are in 0..1, and some in 0..255."""
  small = large = None
  for field, array in zip(fields, arrays, strict=True):
    if not array.size or array.dtype.kind not in 'uif':
      continue
    most = array.max()
    if array.dtype.kind == 'f' and 0 < most <= 1:
      small = small or field
    # Normalized images also have values above 1; `_to_levels` refuses them.
    elif most >= _BRIGHT:
      large = large or field
  if small and large:
    raise ValueError(
      f'{small}: found floats in 0..1, but larger pixels in {large}; give all'
      ' in 0..1, or all in 0..255'
    )


def _is_labeled(arrays: Sequence[np.ndarray]) -> bool:
  """Whether the arrays are a pair (images, labels), not a list of images."""
  # Two images have the ranks 3 and 2 if one is in color. Features have rank 2,
  # and their labels 1.
  ranks = tuple(array.ndim for array in arrays)
  return ranks in ((2, 1), (3, 1), (4, 1), (4, 2))


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
    if shape[1] in _CHANNELS:
      raise ValueError(
        f'{found}, with channels first; give np.moveaxis(images, 1, -1), of'
        ' shape [images, height, width, channels]'
      )
    last = shape[3] - 1
    raise ValueError(
      f'{found}, with {shape[3]} channels; give 1 for gray or 3 for color;'
      ' where the last is opacity in 0..255, give the images on white, 255 -'
      f' (255 - images[..., :{last}]) * (images[..., {last}:] / 255)'
    )
  if 0 in images.shape:
    raise ValueError(f'{found}, without a pixel; {_EXPECTED}')
  return images


def _to_levels(field: str, images: np.ndarray) -> np.ndarray:
  """Converts pixels to uint8 in 0..255."""
  if images.dtype.kind not in 'uif':
    raise ValueError(
      f'{field}: found pixels of dtype {images.dtype}; give uint8 in 0..255, or'
      ' floats in 0..1'
    )
  least, most = images.min(), images.max()
  found = f'{field}: found pixels in {least:g}..{most:g}'
  if not (least >= 0 and most <= 255):
    raise ValueError(
      f'{found}; give them in 0..255 or 0..1, without nan and before they are'
      ' normalized: the model does that'
    )
  is_float = images.dtype.kind == 'f'
  if is_float and most <= 1:
    return np.rint(images * 255).astype(np.uint8)
  if most < _BRIGHT:
    raise ValueError(
      f'{found}, all nearly black; give images * (255 / m), where m is the'
      ' value of white'
    )
  return (np.rint(images) if is_float else images).astype(np.uint8)


def read_dataset(
  field: str, dataset: tf.data.Dataset, *, labeled: bool
) -> tuple[np.ndarray, np.ndarray | None]:
  """Reads the images and labels of a dataset; labels are None unless `labeled`.

  Elements are (image, label), or mappings with an 'image' (or 'pixels', as in
  TFF's data sets) and a 'label', batched or not. Unless `labeled`, an element
  may be the image alone.
  """
  if dataset.cardinality() == tf.data.INFINITE_CARDINALITY:
    raise ValueError(
      f'{field}: found a dataset without end; leave out repeat()'
    )
  dataset = dataset.map(lambda *parts: _pick(field, parts, labeled))
  try:
    if _is_batched(dataset.element_spec):
      dataset = dataset.unbatch()
    elements = list(dataset.as_numpy_iterator())
  except (ValueError, tf.errors.OpError) as error:
    reason = str(error).strip().partition('\n')[0]
    raise ValueError(
      f'{field}: found a dataset that cannot be read ({reason}); give one of'
      ' images [height, width, channels] with 1 or 3 channels, or of batches'
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
    if isinstance(found[0], Mapping):
      what = f'whose first part has {", ".join(found[0])}'
  raise ValueError(
    f'{field}: found elements {what}; map them to'
    f' {"(image, label)" if labeled else "images"}'
  )


def _is_batched(spec: tuple[tf.TensorSpec, ...]) -> bool:
  """Whether elements are batches of images."""
  image = spec[0].shape
  if image.rank == 2:
    # A batch of feature vectors, or a gray image without channels.
    return image[0] is None and image[1] is not None
  if image.rank != 3:
    return image.rank == 4
  if len(spec) == 2 and spec[1].shape.rank == 0:
    return False
  # A batch of gray images without channels, or an image with channels.
  return image[-1] is not None and image[-1] not in _CHANNELS
