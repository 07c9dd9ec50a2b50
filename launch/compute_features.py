# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Computes the features of images with a pretrained backbone, into a file.

To train on them, --model=frozen:NAME of launch.train needs no file. This is for
features that are to be looked at, changed or used elsewhere:

  python -m launch.compute_features --photo_dir=photos \
    --output_file=photos.npz
  python -m launch.train client_priors --task=features \
    --features_file=photos.npz

The folder is as for --task=image_folder. Parts of such a file are made of other
images:

  python -m launch.compute_features --tfds_name=cifar10 --split=train \
    --size=128 --output_file=features/train.npz
  python -m launch.compute_features --image_folder=photos/clients \
    --folders=clients --output_file=features/clients.npz

Their output has the arrays `features`, float32 [images, dimension], and, where
the input says so, `labels` or `client_ids`, int32 [images], and the names of
folders. What was computed is kept in a cache, by images, weights and
preparation: the same command goes on after an interrupt.
"""

import dataclasses
import pathlib
from typing import NamedTuple

import numpy as np

from tff_semifl import settings
from tff_semifl.cli import command_line
from tff_semifl.cli import parts
from tff_semifl.cli import program
from tff_semifl.data import data_errors
from tff_semifl.data import image_folders
from tff_semifl.data import image_listing
from tff_semifl.data import image_reading
from tff_semifl.data import sources
from tff_semifl.data import tfds_images
from tff_semifl.experiment import progress
from tff_semifl.files import durable_files
from tff_semifl.models.frozen import backbone as backbone_lib
from tff_semifl.models.frozen import backbones
from tff_semifl.models.frozen import feature_cache

# A larger array is kept in a file on disk.
_MAX_BYTES_IN_MEMORY = 2**30
_KEPT = ('labels', 'client_ids')


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComputeFeatures(settings.Settings):
  """The settings of this program."""

  backbone: str = settings.setting(
    'efficientnet_lite0',
    'Network that computes features: efficientnet_lite0, a network of Keras'
    ' Applications such as MobileNetV2, or a file .keras.',
  )
  size: int | None = settings.setting(
    None,
    'Height and width that images are resized to, in pixels. By default 224, or'
    ' that of the file .keras.',
    settings.at_least(32),
  )
  photo_dir: str | None = settings.setting(
    None,
    'Input: folder with server/<class>, clients/<client> and test/<class>.',
  )
  tfds_name: str | None = settings.setting(
    None, 'Input: data set of TensorFlow Datasets, such as cifar10.'
  )
  split: str = settings.setting('train', 'Split of that data set.')
  tfds_data_dir: str | None = settings.setting(
    None, 'Folder of TensorFlow Datasets.'
  )
  image_folder: str | None = settings.setting(
    None, 'Input: folder that has folders of images.'
  )
  folders: str = settings.setting(
    'classes',
    'What the folders in --image_folder are.',
    settings.one_of('classes', 'clients'),
  )
  images_file: str | None = settings.setting(
    None,
    'Input: .npz file with images, uint8 [images, height, width, 1 or 3], and'
    ' perhaps labels or client_ids; or .npy file of images, of any size.',
  )
  output: parts.OutputFile = parts.OutputFile()
  cache_dir: str | None = settings.setting(
    None,
    'Folder where features are kept; by default ~/.cache/tff_semifl/features.',
  )


class ImageInput(NamedTuple):
  """Images, uint8 [images, height, width, 1 or 3], with labels or client ids.

  `others` are arrays by name: `labels` or `client_ids`, int [images], and
  `class_names` or `client_names`, strings.
  """

  images: sources.Images
  others: dict[str, np.ndarray]


def read_folders(
  root: pathlib.Path, image_size: tuple[int, int], *, are_clients: bool
) -> ImageInput:
  """Reads images from class folders or client folders."""
  problems = []
  folders = image_listing.list_folders(root, problems, are_clients=are_clients)
  data_errors.raise_if_any(root, problems)
  form = image_reading.ImageForm(image_size)
  files = [file for each in folders.values() for file in each]
  if not files:
    raise data_errors.DataError(f'{root} has no image in it')
  found = image_reading.read(files, form, problems, _MAX_BYTES_IN_MEMORY)
  data_errors.raise_if_any(root, problems)
  numbers = np.repeat(
    np.arange(len(folders), dtype=np.int32), [*map(len, folders.values())]
  )
  names = np.array(list(folders))
  if are_clients:
    others = {'client_ids': numbers, 'client_names': names}
  else:
    others = {'labels': numbers, 'class_names': names}
  return ImageInput(found.images, others)


def read_federation(
  root: pathlib.Path, image_size: tuple[int, int]
) -> dict[str, ImageInput]:
  """Reads the images of server, clients and test, by prefix of array names."""
  found = image_folders.read_image_folders(
    str(root),
    image_reading.ImageForm(image_size),
    max_bytes_in_memory=_MAX_BYTES_IN_MEMORY,
  )
  if found.test is None:
    raise data_errors.DataError(f'{root}/test is missing or is no folder')
  names = np.array(found.class_names)
  sizes = [len(share) for share in found.shares]
  ids = np.repeat(np.array(found.client_names), sizes)
  return {
    '': ImageInput(
      found.labeled.images, {'labels': names[found.labeled.labels]}
    ),
    'client_': ImageInput(found.unlabeled, {'ids': ids}),
    'test_': ImageInput(
      found.test.images, {'labels': names[found.test.labels]}
    ),
  }


def read_file(path: pathlib.Path) -> ImageInput:
  """Reads a .npz or .npy file of images."""
  try:
    found = np.load(path, mmap_mode='r', allow_pickle=False)
    arrays = {'images': found} if isinstance(found, np.ndarray) else dict(found)
  except FileNotFoundError:
    raise
  except Exception as error:  # The type depends on the damaged byte.
    raise ValueError(f'is damaged, or no .npz or .npy file: {error}') from error
  if 'images' not in arrays:
    raise ValueError(f'has the arrays {", ".join(arrays)}, but no images')
  images = arrays['images']
  if images.dtype != np.uint8 or images.ndim != 4 or not len(images):
    raise ValueError(
      f'has images of dtype {images.dtype} and shape {list(images.shape)}; they'
      ' must be uint8 [images, height, width, 1 or 3]'
    )
  others = {name: arrays[name] for name in _KEPT if name in arrays}
  for name, array in others.items():
    if array.shape != images.shape[:1]:
      raise ValueError(
        f'has {len(images)} images, but {name} of shape {list(array.shape)}'
      )
  return ImageInput(images, others)


def main(chosen: ComputeFeatures) -> None:
  """Computes the features, and writes the file."""
  path = chosen.output.check()
  with settings.blame('output_file', chosen.output.output_file):
    if path is None or path.suffix != '.npz':
      raise ValueError('name a .npz file to write')
  with settings.blame('backbone', chosen.backbone):
    backbone = backbones.load(
      chosen.backbone,
      image_size=chosen.size and (chosen.size, chosen.size),
    )
  arrays = {}
  for beginning, (images, others) in _read_input(chosen, backbone).items():
    with settings.blame(
      'cache_dir', chosen.cache_dir, durable_files.OutputError
    ):
      folder = chosen.cache_dir or feature_cache.default_folder()
      features = feature_cache.compute(
        backbone,
        images,
        pathlib.Path(folder),
        progress.say,
        quiet=progress.is_quiet(),
      )
    for name, array in {'features': features, **others}.items():
      arrays[beginning + name] = array
  with parts.replacing(path) as file:
    np.savez(file, **arrays)
  print(f'backbone: {backbone.name}, {_shape(backbone.image_size)}')
  for name, array in arrays.items():
    if name.endswith('features'):
      print(f'{name}: {_shape(array.shape)}')
  print(f'file: {path}')


def _read_input(
  chosen: ComputeFeatures, backbone: backbone_lib.Backbone
) -> dict[str, ImageInput]:
  """The inputs, by the prefix of array names in the output."""
  names = ('photo_dir', 'tfds_name', 'image_folder', 'images_file')
  given = [name for name in names if getattr(chosen, name) is not None]
  if len(given) != 1:
    raise command_line.UsageError(
      f'give one of the flags --{", --".join(names)}, to say which images'
    )
  (name,) = given
  value = getattr(chosen, name)
  with settings.blame(name, value, ValueError, OSError):
    if name == 'photo_dir':
      return read_federation(pathlib.Path(value), backbone.image_size)
    if name == 'tfds_name':
      [found] = tfds_images.load(value, [chosen.split], chosen.tfds_data_dir)
      return {'': ImageInput(found.images, {'labels': found.labels})}
    if name == 'images_file':
      return {'': read_file(pathlib.Path(value))}
    found = read_folders(
      pathlib.Path(value),
      backbone.image_size,
      are_clients=chosen.folders == 'clients',
    )
  return {'': found}


def _shape(sizes: tuple[int, ...]) -> str:
  return 'x'.join(map(str, sizes))


if __name__ == '__main__':
  program.run(main, ComputeFeatures())
