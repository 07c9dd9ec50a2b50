# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tasks of folders of images.

Class names, image size and pixel statistics come from the images, so that all
images are read.
"""

from collections.abc import Sequence
import math
import os
import pathlib

from absl import logging
import numpy as np

from tff_semifl.data import data_errors
from tff_semifl.data import image_files
from tff_semifl.data import image_folders
from tff_semifl.data import image_reading
from tff_semifl.data import sources
from tff_semifl.experiment import image_task
from tff_semifl.experiment import loaded_task

# 39,000 images of 96x96 in color.
MAX_GIB_IN_MEMORY = 1


def create_task(
  root: str,
  form: image_reading.ImageForm,
  *,
  flip: bool = True,
  test_fraction: float | None = None,
  images_on_disk: bool | None = None,
  sites: Sequence[str] = (),
) -> image_task.ImageTask:
  """Creates the task of a folder of images; reads all images.

  Args:
    test_fraction: Share of the server's images of each class to test on, at
      least one image, if there is no folder `test`. Test images are
      evenly spaced among the sorted file names, whatever the seed.
    images_on_disk: Whether clients' images are kept in a file instead of in
      memory; by default only above 1 GiB.
    sites: Names of the sites that hold the clients' images, if any. Clients
      are numbered in the sorted order of these names.
  """
  folder = pathlib.Path(root)
  if sites and os.path.exists(folder / 'clients'):
    raise data_errors.DataError(
      f'{folder / "clients"} has images of clients; leave it out, or the sites',
      'sites',
    )
  has_test = os.path.exists(folder / 'test')
  # Checked before any image is read, but only if `root` is such a folder;
  # otherwise reading it gives the clearer error.
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
    max_bytes_in_memory={None: MAX_GIB_IN_MEMORY * 2**30, True: 0}.get(
      images_on_disk, math.inf
    ),
    has_clients=not sites,
  )
  _report(root, form, found)
  unlabeled, shares = found.unlabeled, found.shares
  if sites:
    unlabeled = sources.SiteImages(
      sorted(sites), found.labeled.images.shape[1:]
    )
    # Each index stands for all images of a site.
    shares = np.split(np.arange(len(sites)), len(sites))
  train, test, names = found.labeled, found.test, found.files
  if test is None:
    order, num_train = _hold_out(train.labels, test_fraction, found.class_names)
    names = [names[index] for index in order] + names[len(order) :]
    train, test = (
      train.select(indices) for indices in np.split(order, [num_train])
    )
  return loaded_task.create_task(
    sources.TaskData(
      train=train,
      test=test,
      unlabeled=unlabeled,
      shares=shares,
      names=names,
      unlabeled_labels=None if sites else found.unlabeled_labels,
      client_names=sorted(sites) or found.client_names,
    ),
    found.class_names,
    flip=flip,
    origin_of_test='the test folder' if has_test else "the server's",
    num_resized=found.num_resized,
    num_transparent=found.num_transparent,
    background=form.background,
  )


def _report(
  root: str,
  form: image_reading.ImageForm,
  found: image_folders.ImageFolders,
) -> None:
  """Warns of images that are on disk or were changed."""
  if isinstance(found.unlabeled, sources.StoredImages):
    logging.warning(
      "%s: clients' images, %.1f GB, are in a file in %s and not in memory;"
      ' images_on_disk=false keeps them in memory',
      root,
      math.prod(found.unlabeled.shape) / 1e9,
      sources.storage_folder(),
    )
  # An explicit size is a request to scale.
  if found.num_resized and form.size is None:
    logging.warning(
      '%s: %d of %d images have another size and are scaled and cropped to'
      ' %dx%d; image_size chooses another size, on_odd_size=refuse names these'
      ' images',
      root,
      found.num_resized,
      len(found.files),
      *found.labeled.images.shape[1:3],
    )
  if found.num_transparent:
    logging.warning(
      '%s: %d of %d images have transparent pixels, which are put on %s;'
      ' background chooses another color',
      root,
      found.num_transparent,
      len(found.files),
      image_files.name_color(form.background),
    )


def _hold_out(
  labels: np.ndarray, fraction: float, class_names: tuple[str, ...]
) -> tuple[np.ndarray, int]:
  """Indices, training before test images, and the number of training images.

  Each class has test images.
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
  num_images, num_test = len(is_test), int(is_test.sum())
  if abs(num_test - fraction * num_images) >= 1:
    logging.warning(
      'test_fraction=%g of %d labeled images makes %d test images, %.1f%%: each'
      ' class is rounded by itself, to 1 at least. One image is %.2g points of'
      ' accuracy; a folder test, or another share, gives other numbers',
      fraction,
      num_images,
      num_test,
      100 * num_test / num_images,
      100 / num_test,
    )
  # Stable, so that images keep their order; training images come first.
  order = np.argsort(is_test, kind='stable')
  return order, num_images - num_test
