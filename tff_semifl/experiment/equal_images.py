# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Finds duplicates: in training and test, within a group, or relabeled.

Images are equal if all pixels are equal, at the size used in training.
"""

import collections
from collections.abc import Callable, Iterator, Sequence
import dataclasses
from typing import NamedTuple

import numpy as np

from tff_semifl import settings
from tff_semifl.data import data_errors
from tff_semifl.data import sources
from tff_semifl.experiment import federated_data

# How many examples a line names.
_NUM_NAMED = 3


class _Group(NamedTuple):
  """A group of a task's images, by index among all images of the task.

  Hashes are uint64, and labels int32, with `sources.UNKNOWN_LABEL`.
  """

  name: str
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
    images: sources.TaskData,
    split: Callable[[sources.TaskData], federated_data.FederatedData],
    evaluated: str,
  ) -> federated_data.FederatedData:
    """Splits images, describes duplicates, and drops duplicates if chosen."""
    data = split(images)
    is_elsewhere = isinstance(images.unlabeled, sources.SiteImages)
    parts = [images.train.images, images.test.images]
    if images.unlabeled is not None and not is_elsewhere:
      parts.append(images.unlabeled)
    hashes = np.concatenate([*map(sources.hash_images, parts)])
    if len(np.unique(hashes)) == len(hashes):
      return data
    # The same split of indices shows which image went to which group.
    indices = split(_replace_by_indices(images))
    named = [
      ('labeled images', indices.labeled),
      (f'{evaluated} images', indices.test),
    ]
    if not is_elsewhere:
      pool = "clients' images" if len(data.shares) else 'unlabeled images'
      named.append((pool, indices.unlabeled))
    groups = [
      _Group(name, numbers, hashes[numbers], labels)
      for name, (numbers, labels) in named
    ]
    lines = tuple(_describe(groups, images, self.drop_test_duplicates))
    if self.drop_test_duplicates:
      with settings.blame('drop_test_duplicates', True):
        data = _drop(data, groups)
    return data._replace(equal_images=lines)


def _replace_by_indices(images: sources.TaskData) -> sources.TaskData:
  """The data with indices as images: training, then test, then unlabeled."""
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


def _describe(
  groups: Sequence[_Group], images: sources.TaskData, are_dropped: bool
) -> Iterator[str]:
  """One line for each kind of duplicates."""
  labeled, evaluated, *pools = groups

  def name_examples(found: np.ndarray, *among: _Group) -> str:
    """Names the images of the first few hashes in `found`."""
    examples = []
    for each in np.unique(found)[:_NUM_NAMED]:
      indices = np.concatenate(
        [group.indices[group.hashes == each] for group in among]
      )
      examples.append(
        ' = '.join(_name(images, index) for index in indices[:_NUM_NAMED])
      )
    return '; '.join(examples)

  for one, other in (
    (evaluated, labeled),
    *((evaluated, pool) for pool in pools),
    *((pool, labeled) for pool in pools),
  ):
    found = one.hashes[np.isin(one.hashes, other.hashes)]
    if not len(found):
      continue
    what = ''
    if one is evaluated and are_dropped:
      what = '; they are removed from training'
    elif one is evaluated:
      what = (
        '; accuracy on them says nothing of new images, and'
        ' drop_test_duplicates keeps them out of training'
      )
    yield (
      f'{len(found)} of {len(one.hashes)} {one.name} are also {other.name}'
      f' ({name_examples(found, one, other)}){what}'
    )
  for group in groups:
    values, counts = np.unique(group.hashes, return_counts=True)
    num_copies = len(group.hashes) - len(values)
    if num_copies:
      yield (
        f'{num_copies} of {len(group.hashes)} {group.name} are copies of others'
        f' of them ({name_examples(values[counts > 1], group)})'
      )
  labels_of = collections.defaultdict(set)
  for group in groups:
    for image, label in zip(group.hashes, group.labels, strict=True):
      if label != sources.UNKNOWN_LABEL:
        labels_of[image].add(label)
  found = [image for image, labels in labels_of.items() if len(labels) > 1]
  if found:
    yield (
      f'{len(found)} different images have more than one label'
      f' ({name_examples(np.array(found), *groups)})'
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
  index -= num_train + num_test
  for client, share in enumerate(images.shares or ()):
    (places,) = np.nonzero(share == index)
    if len(places):
      if images.client_names is not None:
        client = images.client_names[client]
      return f'client {client}[{places[0]}]'
  return f'unlabeled[{index}]'


def _drop(
  data: federated_data.FederatedData, groups: Sequence[_Group]
) -> federated_data.FederatedData:
  """Removes the training images that models are evaluated on."""
  labeled_group, evaluated, *pools = groups
  labeled_mask, *masks = (
    ~np.isin(group.hashes, evaluated.hashes)
    for group in (labeled_group, *pools)
  )
  labeled = data.labeled.select(np.flatnonzero(labeled_mask))
  lost = np.setdiff1d(data.labeled.labels, labeled.labels)
  if len(lost):
    raise data_errors.ClassError(
      f'all labeled images of class {{}} are {evaluated.name}, so that nothing'
      ' would be left to train on',
      lost[0],
    )
  data = data._replace(labeled=labeled)
  # Images at sites cannot be compared here.
  for pool, mask in zip(pools, masks, strict=True):
    if len(mask) and not mask.any():
      raise ValueError(f'all {pool.name} are {evaluated.name}')
    numbers = np.cumsum(mask) - 1
    data = data._replace(
      unlabeled=data.unlabeled.select(np.flatnonzero(mask)),
      shares=[numbers[share[mask[share]]] for share in data.shares],
    )
  return data
