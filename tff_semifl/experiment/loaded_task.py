# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tasks of images or features in memory, and of folders of images.

If clients have their own images, pixel mean and standard deviation come from
the server's images alone, so that they reveal nothing about clients' images.
The strong augmentation is KerasCV's RandAugment at low magnitude, whose shifts
scale with the image. SemiFL's augmentation shifts by 100 pixels at any size,
which leaves one in seven images of up to 100 pixels blank. FixMatch's
augmentation is made for images of 32 pixels and hardly changes larger images.
"""

from collections.abc import Mapping, Sequence
import functools
import hashlib
import math
import os
import pathlib
import types
from typing import Any

from absl import logging
import numpy as np

from tff_semifl.augment import augmentation
from tff_semifl.augment import keras_cv_policy
from tff_semifl.data import data_errors
from tff_semifl.data import image_folders
from tff_semifl.data import image_reading
from tff_semifl.data import image_storage
from tff_semifl.data import own_images
from tff_semifl.data import sources
from tff_semifl.experiment import image_task
from tff_semifl.models import wide_resnet

# Weak augmentation shifts by up to the image's size divided by this number: 4
# pixels of 32, and 12 of 96, as in the papers.
_PADDING_SHARE = 8
# The number of residual blocks in each group of the WideResNet. As in the
# paper, 28 layers have three groups, and 37 layers, for images of 96x96, have
# four. Images of 128 pixels and more have five groups, with half the blocks and
# half the width: 3 million weights instead of 24 million. A step of 10 images
# of 224 pixels then takes less than 2 seconds on a CPU instead of 12.
_BLOCKS_PER_GROUP = 4
_WIDTH = 2
_MAX_WIDE_GROUPS = 4
# 39,000 images of 96x96 in color.
MAX_GIB_IN_MEMORY = 1
# The default settings of tasks of features.
USUAL_OF_FEATURES: Mapping[str, Any] = types.MappingProxyType(
  {'model': 'linear', 'strong_augmentation': None}
)


def create_task(
  data: sources.TaskData,
  class_names: tuple[str, ...],
  *,
  flip: bool = True,
  description: str | None = None,
) -> image_task.ImageTask:
  """Creates a task of images that are in memory.

  The description, by default from `describe`, has a digest of all images, so
  that a run resumes only with the same images.
  """
  pixel_mean, pixel_standard_deviation = own_images.measure_pixels(
    data.server_images
  )
  height, width, num_channels = data.train.images.shape[1:]
  image_shape = (height, width, num_channels)
  weak_augmentation = functools.partial(
    augmentation.flip_and_crop,
    flip=flip,
    padding=min(height, width) // _PADDING_SHARE,
  )
  num_groups = wide_resnet.default_num_groups(image_shape)
  shrinks_by = 1 if num_groups <= _MAX_WIDE_GROUPS else 2
  return image_task.ImageTask(
    image_shape=image_shape,
    class_names=class_names,
    pixel_mean=pixel_mean,
    pixel_standard_deviation=pixel_standard_deviation,
    load=lambda: data,
    weak_augmentation=weak_augmentation,
    strong_augmentation=image_task.WeakThenStrong(
      weak_augmentation, keras_cv_policy.build_gentle_rand_augment()
    ),
    # One layer for the stem; in each group, one layer and two for each block.
    model_depth=num_groups * (2 * _BLOCKS_PER_GROUP // shrinks_by + 1) + 1,
    model_width=_WIDTH // shrinks_by,
    num_labeled=len(data.train.labels),
    data_description=description or describe(data, class_names),
  )


def create_feature_task(
  data: sources.TaskData,
  class_names: tuple[str, ...],
  *,
  origin_of_test: str = 'the test vectors',
) -> image_task.ImageTask:
  """Creates a task of feature vectors, float32 [number, features].

  There is no weak augmentation; strong augmentation adds Gaussian noise, see
  `augmentation.add_noise`.
  """
  mean, standard_deviation = own_images.measure_features(data.server_images)
  return image_task.ImageTask(
    image_shape=data.train.images.shape[1:],
    class_names=class_names,
    pixel_mean=mean,
    pixel_standard_deviation=standard_deviation,
    load=lambda: data,
    weak_augmentation=augmentation.keep,
    strong_augmentation=image_task.WeakThenStrong(
      augmentation.keep,
      functools.partial(
        augmentation.add_noise, standard_deviation=standard_deviation
      ),
    ),
    # Unused, because no WideResNet takes features.
    model_depth=1,
    model_width=1,
    num_labeled=len(data.train.labels),
    data_description=describe(data, class_names, origin_of_test),
  )


def describe(
  data: sources.TaskData,
  class_names: tuple[str, ...],
  origin_of_test: str = 'the test images',
  changes: str = '',
) -> str:
  """One line with the numbers of images, and a digest of images and labels.

  For clients at sites, the digest covers the names of sites in place of images.
  `changes`, such as ' 3 resized to 64x64,', is written before the digest.
  """
  unlabeled, labels = data.unlabeled, data.unlabeled_labels
  shares, names = data.shares or (), ()
  everything = [slice(None)]
  if isinstance(unlabeled, image_storage.SiteImages):
    # At sites, only the names of the sites are known.
    names, unlabeled, shares = unlabeled.names, None, ()
  if unlabeled is None:
    unlabeled = data.train.images[:0]
  if labels is None:
    labels = np.full(len(unlabeled), sources.UNKNOWN_LABEL, np.int32)
  digest = hashlib.sha256()
  for images, labels_of_images, indices in (
    (*data.train, everything),
    # Client by client, because the digest must depend on the partition.
    (unlabeled, labels, shares or everything),
    (*data.test, everything),
  ):
    digest.update(repr(images.shape).encode())
    for chosen in indices:
      digest.update(np.ascontiguousarray(images[chosen]).data)
    digest.update(labels_of_images.data)
  sizes = [len(share) for share in data.shares or ()]
  digest.update(repr((names or sizes, class_names)).encode())
  kind = sources.kind_of(data.train.images.shape[1:])
  of_clients = f'{len(unlabeled)} of {len(sizes)} clients'
  if data.labeled_clients:
    digest.update(repr([*data.labeled_clients]).encode())
    of_clients += f', {len(data.labeled_clients)} with labels'
  if names:
    of_clients = f'those of {", ".join(names)}'
  return (
    f'{len(data.train.labels)} labeled {kind.name}, {of_clients},'
    f' {len(data.test.labels)} of {origin_of_test} for testing,{changes}'
    f' SHA-256 {digest.hexdigest()[:16]}'
  )


def create_folder_task(
  root: str,
  form: image_reading.ImageForm,
  *,
  flip: bool = True,
  test_fraction: float | None = None,
  sites: Sequence[str] = (),
) -> image_task.ImageTask:
  """Creates the task of a folder of images; reads all images.

  Without a folder `test`, the share `test_fraction` of the server's images of
  each class becomes test images. Test images are evenly spaced among the sorted
  file names, for any seed. Clients' images of more than 1 GiB in all are kept
  in a file. With `sites`, each site is a client, in the order of names.
  """
  folder = pathlib.Path(root)
  if sites and os.path.exists(folder / 'clients'):
    raise data_errors.DataError(
      f'{folder / "clients"} has images of clients; leave it out, or the sites',
      'sites',
    )
  has_test = os.path.exists(folder / 'test')
  # Checked before any image is read if the structure of `root` is right;
  # otherwise reading raises a clearer error.
  if os.path.isdir(folder / 'server') and has_test == (
    test_fraction is not None
  ):
    raise data_errors.DataError(
      f'{folder / "test"} has images to test on; leave it out'
      if has_test
      else f'there is no folder {folder / "test"}; add it, or say which share'
      " of the server's images to test on instead, such as 0.2",
      'test_fraction',
    )
  found = image_folders.read_image_folders(
    root,
    form,
    max_bytes_in_memory=MAX_GIB_IN_MEMORY * 2**30,
    has_clients=not sites,
  )
  unlabeled, shares = found.unlabeled, found.shares
  if sites:
    unlabeled = image_storage.SiteImages(
      sorted(sites), found.labeled.images.shape[1:]
    )
    # A single index stands for all images of a site.
    shares = np.split(np.arange(len(sites)), len(sites))
  train, test, names = found.labeled, found.test, found.files
  if test is None:
    order, num_train = _hold_out(
      train.labels, test_fraction or 0.0, found.class_names
    )
    names = [names[index] for index in order] + names[len(order) :]
    train, test = (
      train.select(indices) for indices in np.split(order, [num_train])
    )
  data = sources.TaskData(
    train=train,
    test=test,
    unlabeled=unlabeled,
    shares=shares,
    names=names,
    unlabeled_labels=None if sites else found.unlabeled_labels,
    client_names=sorted(sites) or found.client_names,
    labeled_clients=found.labeled_clients,
  )
  return create_task(
    data,
    found.class_names,
    flip=flip,
    description=describe(
      data,
      found.class_names,
      'the test folder' if has_test else "the server's",
      _report(root, form, found),
    ),
  )


def _report(
  root: str, form: image_reading.ImageForm, found: image_folders.ImageFolders
) -> str:
  """Warns of images on disk and of resized images; describes resized images."""
  if isinstance(found.unlabeled, np.memmap):
    logging.warning(
      "%s: clients' images, %.1f GB, are in a file in %s and not in memory",
      root,
      math.prod(found.unlabeled.shape) / 1e9,
      image_storage.storage_folder(),
    )
  changes = ''
  if found.num_resized:
    size = '{}x{}'.format(*found.labeled.images.shape[1:3])
    changes = f' {found.num_resized} resized to {size},'
    # With an explicit size, scaling is expected.
    if form.size is None:
      logging.warning(
        '%s: %d of %d images have another size and are scaled and cropped to'
        ' %s; image_size chooses another size',
        *(root, found.num_resized, len(found.files), size),
      )
  return changes


def _hold_out(
  labels: np.ndarray, fraction: float, class_names: tuple[str, ...]
) -> tuple[np.ndarray, int]:
  """Holds out a fraction of each class, evenly spaced, as test images.

  Returns all indices, training images first, and the number of training images.
  """
  is_test = np.zeros(len(labels), bool)
  for label, name in enumerate(class_names):
    indices = np.flatnonzero(labels == label)
    num_test = max(round(fraction * len(indices)), 1)
    if num_test >= len(indices):
      raise data_errors.DataError(
        f'class {name} has too few labeled images, {len(indices)}, to test on'
        f' {num_test} and train on others',
        'test_fraction',
      )
    positions = (np.arange(num_test) + 0.5) * len(indices) / num_test
    is_test[indices[positions.astype(np.int64)]] = True
  # A stable sort keeps the order of images; training images come first.
  order = np.argsort(is_test, kind='stable')
  return order, np.count_nonzero(~is_test)
