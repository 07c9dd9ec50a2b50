# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Finds equal images: in training and test, twice, or with two labels.

Images are equal if all pixels are, in the size that is trained on.
"""

from collections.abc import Callable, Iterator, Mapping
import dataclasses
from typing import NamedTuple

import numpy as np

from tff_semifl import settings
from tff_semifl.data import names as names_lib
from tff_semifl.data import site_images
from tff_semifl.data import sources
from tff_semifl.experiments import federated_data
from tff_semifl.experiments import image_task

# Examples that a line has.
_NUM_NAMED = 3
_LABELED = 'labeled images'


class _Split(NamedTuple):
  """A group of a task's images, by index.

  Attributes:
    indices: int64 [number].
    hashes: uint64 [number].
    labels: int32 [number], or `sources.UNKNOWN_LABEL`.
  """

  indices: np.ndarray
  hashes: np.ndarray
  labels: np.ndarray


@dataclasses.dataclass(frozen=True, kw_only=True)
class EqualImages(settings.Settings):
  """The treatment of training images that are also test images."""

  drop_test_duplicates: bool = settings.setting(
    False,
    'Whether to remove from training, at clients and server, the images whose'
    ' pixels all equal those of a test image (or validation image).',
  )

  def find_and_drop(
    self,
    images: image_task.TaskData,
    split: Callable[[image_task.TaskData], federated_data.FederatedData],
    evaluated: str,
  ) -> federated_data.FederatedData:
    """Splits images, and reports equal ones."""
    data = split(images)
    hashes, has_equal = _hash_all(images)
    if not has_equal:
      return data
    # Splits indices likewise, which tell where each image is from.
    data_of_indices = split(_replace_by_indices(images))
    splits = _split(data_of_indices, hashes, images, f'{evaluated} images')
    lines = tuple(_describe(splits, images, hashes, self.drop_test_duplicates))
    if self.drop_test_duplicates:
      with settings.blame('drop_test_duplicates', True):
        data = _drop(data, splits, f'{evaluated} images')
    return data._replace(equal_images=lines)


def _hash_all(images: image_task.TaskData) -> tuple[np.ndarray, bool]:
  """Hashes of all images that are here, and whether two are equal."""
  parts = [images.train.images, images.test.images]
  if images.unlabeled is not None and not _is_elsewhere(images):
    parts.append(images.unlabeled)
  hashes = np.concatenate([*map(sources.hash_images, parts)])
  return hashes, len(np.unique(hashes)) < len(hashes)


def _is_elsewhere(images: image_task.TaskData) -> bool:
  return isinstance(images.unlabeled, site_images.SiteImages)


def _replace_by_indices(images: image_task.TaskData) -> image_task.TaskData:
  """Indices in place of images: training, then test, then unlabeled."""
  num_train, num_test = len(images.train.labels), len(images.test.labels)
  train, test = np.split(np.arange(num_train + num_test), [num_train])
  unlabeled = images.unlabeled
  if unlabeled is not None:
    unlabeled = num_train + num_test + np.arange(len(unlabeled))
  return images._replace(
    train=sources.LabeledImages(train, images.train.labels),
    test=sources.LabeledImages(test, images.test.labels),
    unlabeled=unlabeled,
  )


def _split(
  data: federated_data.FederatedData,
  hashes: np.ndarray,
  images: image_task.TaskData,
  evaluated: str,
) -> Mapping[str, _Split]:
  """The groups of images, by name."""
  splits = {_LABELED: data.labeled, evaluated: data.test}
  if not _is_elsewhere(images):
    has_clients = len(data.shares) > 0
    pool = "clients' images" if has_clients else 'unlabeled images'
    splits[pool] = data.unlabeled
  return {
    name: _Split(indices, hashes[indices], labels)
    for name, (indices, labels) in splits.items()
  }


def _describe(
  splits: Mapping[str, _Split],
  images: image_task.TaskData,
  hashes: np.ndarray,
  are_dropped: bool,
) -> Iterator[str]:
  """A line for each kind of equal images."""
  labeled, evaluated, *_ = splits

  def name_examples(found: np.ndarray, *among: str) -> str:
    """The names of the images with the first few of some hashes."""
    first = np.unique(found)[:_NUM_NAMED]
    examples = []
    for each in first:
      indices = [
        index
        for name in among
        for index in splits[name].indices[splits[name].hashes == each]
      ]
      examples.append(
        ' = '.join(_name(images, index) for index in indices[:_NUM_NAMED])
      )
    return '; '.join(examples)

  for name, other in (
    (evaluated, labeled),
    *((evaluated, name) for name in splits if name not in (labeled, evaluated)),
    *((name, labeled) for name in splits if name not in (labeled, evaluated)),
  ):
    found = splits[name].hashes[
      np.isin(splits[name].hashes, splits[other].hashes)
    ]
    if len(found):
      what = ''
      if name == evaluated:
        what = (
          '; they are removed from training'
          if are_dropped
          else '; accuracy on them says nothing of new images, and'
          ' drop_test_duplicates keeps them out of training'
        )
      yield (
        f'{len(found)} of {len(splits[name].hashes)} {name} are also {other}'
        f' ({name_examples(found, name, other)}){what}'
      )
  for name, split in splits.items():
    values, counts = np.unique(split.hashes, return_counts=True)
    num_copies = len(split.hashes) - len(values)
    if num_copies:
      yield (
        f'{num_copies} of {len(split.hashes)} {name} are copies of others of'
        f' them ({name_examples(values[counts > 1], name)})'
      )
  found = _find_ambiguous(splits)
  if len(found):
    yield (
      f'{len(found)} different images have more than one label'
      f' ({name_examples(found, *splits)})'
    )


def _find_ambiguous(splits: Mapping[str, _Split]) -> np.ndarray:
  """The hashes of images with labels of several classes."""
  hashes, labels = (
    np.concatenate(each)
    for each in zip(
      *((split.hashes, split.labels) for split in splits.values()), strict=True
    )
  )
  is_known = labels != sources.UNKNOWN_LABEL
  pairs = {
    *zip(hashes[is_known].tolist(), labels[is_known].tolist(), strict=False)
  }
  values, counts = np.unique(
    np.array([each for each, _ in pairs], np.uint64), return_counts=True
  )
  return values[counts > 1]


def _name(images: image_task.TaskData, index: int) -> str:
  """The file of an image, or its place in the arrays."""
  num_train, num_test = len(images.train.labels), len(images.test.labels)
  if images.names is not None:
    return images.names[index]
  if index < num_train:
    return f'train[{index}]'
  if index < num_train + num_test:
    return f'test[{index - num_train}]'
  index -= num_train + num_test
  for client, share in enumerate(images.shares or ()):
    (places,) = np.nonzero(share == index)
    if len(places):
      if images.client_names is not None:
        client = images.client_names[client]
      return f'client {client}[{places[0]}]'
  return f'unlabeled[{index}]'


def _drop(
  data: federated_data.FederatedData,
  splits: Mapping[str, _Split],
  evaluated: str,
) -> federated_data.FederatedData:
  """The data without training images that models are evaluated on."""
  masks = {
    name: ~np.isin(split.hashes, splits[evaluated].hashes)
    for name, split in splits.items()
  }
  is_kept = masks.pop(_LABELED)
  labeled = data.labeled.select(np.flatnonzero(is_kept))
  lost = np.setdiff1d(data.labeled.labels, labeled.labels)
  if len(lost):
    raise names_lib.ClassError(
      f'all labeled images of class {{}} are {evaluated}, so that nothing would'
      ' be left to train on',
      lost[0],
    )
  masks.pop(evaluated)
  if not masks:
    # Images at sites cannot be compared here.
    return data._replace(labeled=labeled)
  ((name, is_unlabeled_kept),) = masks.items()
  if len(is_unlabeled_kept) and not is_unlabeled_kept.any():
    raise ValueError(f'all {name} are {evaluated}')
  numbers = np.cumsum(is_unlabeled_kept) - 1
  shares = [numbers[share[is_unlabeled_kept[share]]] for share in data.shares]
  chosen = np.flatnonzero(is_unlabeled_kept)
  return data._replace(
    labeled=labeled,
    unlabeled=sources.ImagePool(
      data.unlabeled.images[chosen], data.unlabeled.true_labels[chosen]
    ),
    shares=shares,
  )
