# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Finds images that are in both training and test, or have several labels.

Images are equal if all pixels are equal, at the size used in training.
"""

from collections.abc import Iterator

import numpy as np

from tff_semifl.data import image_storage
from tff_semifl.data import sources
from tff_semifl.experiment import federated_data

# The number of examples in a line, and of equal images for each example.
_NUM_NAMED = 3


def describe(
  images: sources.TaskData,
  data: federated_data.FederatedData,
  evaluated: str,
) -> Iterator[str]:
  """Yields a line for each kind of equal images.

  `data` are the split `images`; images at sites are unknown. `evaluated` names
  the evaluation images: test or validation.
  """
  parts = [images.train.images, images.test.images]
  if not isinstance(images.unlabeled, image_storage.SiteImages | None):
    parts.append(images.unlabeled)
  hashes = np.concatenate([*map(sources.hash_images, parts)])
  if len(np.unique(hashes)) == len(hashes):
    return

  def name_examples(found: np.ndarray) -> str:
    return '; '.join(
      ' = '.join(
        _name(images, index)
        for index in np.flatnonzero(hashes == each)[:_NUM_NAMED]
      )
      for each in np.unique(found)[:_NUM_NAMED]
    )

  pool = "clients' images" if len(data.shares) else 'unlabeled images'
  groups = {'labeled images': data.labeled, pool: data.unlabeled}
  if isinstance(data.unlabeled.images, image_storage.SiteImages):
    del groups[pool]
  tested = sources.hash_images(data.test.images)
  all_hashes, all_labels = [tested], [data.test.labels]
  for name, (of_group, labels) in groups.items():
    all_hashes.append(sources.hash_images(of_group))
    all_labels.append(labels)
    found = tested[np.isin(tested, all_hashes[-1])]
    if len(found):
      yield (
        f'{len(found)} of {len(tested)} {evaluated} images are also {name}'
        f' ({name_examples(found)}); accuracy on them says nothing of new'
        ' images'
      )
  labels = np.concatenate(all_labels).astype(np.uint64)
  is_known = np.concatenate(all_labels) != sources.UNKNOWN_LABEL
  pairs = np.stack([np.concatenate(all_hashes), labels])[:, is_known]
  labeled, counts = np.unique(np.unique(pairs, axis=1)[0], return_counts=True)
  found = labeled[counts > 1]
  if len(found):
    yield (
      f'{len(found)} different images have more than one label'
      f' ({name_examples(found)})'
    )


def _name(images: sources.TaskData, index: int) -> str:
  """An image's file name, or its position in the arrays."""
  num_train, num_test = len(images.train.labels), len(images.test.labels)
  if images.names is not None:
    return images.names[index]
  if index < num_train:
    return f'train[{index}]'
  if index < num_train + num_test:
    return f'test[{index - num_train}]'
  return f'unlabeled[{index - num_train - num_test}]'
