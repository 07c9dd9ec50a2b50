# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Splits a task's images among server, clients, and test or validation."""

from collections.abc import Mapping, Sequence
import dataclasses
from typing import Any, NamedTuple

import numpy as np

from tff_semifl import settings
from tff_semifl.algorithms import system as system_lib
from tff_semifl.data import partition as partition_lib
from tff_semifl.data import sources
from tff_semifl.experiment import client_test as client_test_lib
from tff_semifl.experiment import image_task
from tff_semifl.experiment import partitions


def has_validation(values: Mapping[str, Any]) -> bool:
  """Whether settings, given by name, choose a validation split."""
  return values.get('num_validation') is not None


class FederatedData(NamedTuple):
  """The images of the server, of each client, and for evaluation.

  `shares` has for each client the int64 indices of its images in `unlabeled`.
  `labeled_clients` have labels, on which only some systems train. `test` has
  the validation images if there are any. `notes` are remarks on duplicate
  images and on the partition.
  """

  labeled: sources.LabeledImages
  unlabeled: sources.ImagePool
  shares: Sequence[np.ndarray]
  test: sources.LabeledImages
  equal_images: tuple[str, ...] = ()
  partition_notes: tuple[str, ...] = ()
  given_names: Sequence[str] | None = None
  client_test: client_test_lib.ClientTest | None = None
  labeled_clients: Sequence[int] = ()

  @property
  def client_names(self) -> Sequence[str]:
    """A name for each client: the user's, or a number."""
    return self.given_names or [*map(str, range(len(self.shares)))]

  @property
  def notes(self) -> tuple[str, ...]:
    return self.partition_notes + self.equal_images

  @property
  def measures_clients(self) -> bool:
    """Whether any image in `at_clients` has a label to measure accuracy by."""
    pool, shares = self.at_clients
    labels = pool.true_labels[np.concatenate([*shares, []]).astype(int)]
    return bool(np.any(labels != sources.UNKNOWN_LABEL))

  @property
  def at_clients(self) -> client_test_lib.ClientTest:
    """Clients' images to measure a model on: held-out images, or else all."""
    if self.client_test is not None:
      return self.client_test
    return client_test_lib.ClientTest(self.unlabeled, self.shares)

  @property
  def client_labels(self) -> np.ndarray:
    """The labels of `labeled_clients`, int32 [labels]."""
    own = [self.shares[client] for client in self.labeled_clients]
    labels = self.unlabeled.true_labels[np.concatenate([*own, []]).astype(int)]
    return labels[labels != sources.UNKNOWN_LABEL]

  @property
  def has_some_labels(self) -> bool:
    """Whether some clients, but not all, have labels."""
    return 0 < len(self.labeled_clients) < len(self.shares)

  def at_server(self, labels: system_lib.Labels) -> sources.LabeledImages:
    """The server's training images; any unlabeled images come last."""
    if labels is not system_lib.Labels.AT_SERVER_WITH_POOL:
      return self.labeled
    pool = _pool_of_unknown_classes(self.unlabeled.images)
    return sources.LabeledImages(
      *map(np.concatenate, zip(self.labeled, pool, strict=True))
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Validation(settings.Settings):
  """The setting `num_validation`: labeled images held out for evaluation."""

  num_validation: int | None = settings.setting(
    None,
    "Number of the server's labeled images for evaluation instead of the test"
    ' images, to choose settings: as balanced by class as possible, determined'
    ' by labels and seed. They are not used for training.',
    settings.AT_LEAST_1,
  )

  def hold_out(
    self, data: sources.TaskData, labeled: np.ndarray, seed: int
  ) -> tuple[np.ndarray, sources.TaskData]:
    """Holds out validation images, if chosen.

    Returns the int64 indices of the remaining labeled images, and the data with
    the held-out images as `test`.
    """
    if self.num_validation is None:
      return labeled, data
    with settings.blame('num_validation', self.num_validation):
      held_out = client_test_lib.draw_validation(
        data.train.labels, labeled, self.num_validation, seed
      )
    return (
      labeled[~np.isin(labeled, held_out)],
      data._replace(test=data.train.select(held_out)),
    )

  def __str__(self) -> str:
    """A piece of experiments' default names, such as 'validation100', or ''."""
    return (
      '' if self.num_validation is None else f'validation{self.num_validation}'
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _ServerLabels(settings.Settings):
  num_labeled: int | None = settings.setting(
    None,
    'Labeled images at the server, the same number of each class. The default'
    ' depends on the task: 50 for digits, 4000 for cifar10, 10000 for'
    ' cifar100, 4700 for emnist, 1000 for svhn.',
    settings.AT_LEAST_1,
  )
  validation: Validation = Validation()

  def __str__(self) -> str:
    return '_'.join(filter(None, [str(self.num_labeled), str(self.validation)]))


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataSplit(settings.Settings):
  """How a task's images are split among server, clients and test.

  `server` is a `Validation` if all of the server's images are labeled, and None
  if the server has no images. `clients` is None without clients, or if the task
  defines the partition; `client_test` is None without clients.
  """

  server: _ServerLabels | Validation | None
  clients: partitions.Clients | None
  client_test: client_test_lib.ClientTestSplit | None
  has_pool: bool

  def split(
    self, task: image_task.ImageTask, data: sources.TaskData, seed: int
  ) -> FederatedData:
    pool, notes = sources.ImagePool(*data.train.select([])), ()
    if self.server is None:
      labeled, pool = data.train.select([]), sources.ImagePool(*data.train)
      if self.clients is None:
        pool = _pool_of_task(data)
        if len(data.train.labels):
          notes = ("the server's labeled images are not used",)
    elif isinstance(self.server, _ServerLabels):
      num_labeled = self.server.num_labeled
      with settings.blame('num_labeled', num_labeled):
        split = partition_lib.split_labels(
          data.train.labels, num_labeled, task.num_classes, seed
        )
      chosen, data = self.server.validation.hold_out(data, split.labeled, seed)
      labeled = data.train.select(chosen)
      if self.has_pool:
        pool = _create_pool(data, split.unlabeled)
    else:
      everything = np.arange(len(data.train.labels))
      chosen, data = self.server.hold_out(data, everything, seed)
      if self.client_test is not None:
        chosen = chosen[partition_lib.shuffle(len(chosen), seed)]
      labeled = data.train.select(chosen)
      if self.has_pool:
        pool = _pool_of_task(data)
    shares, names, has_labels = [], None, ()
    if self.clients is not None:
      shares = self.clients.split(pool.true_labels, task.num_classes, seed)
      num_all = len(pool.true_labels)
      if num_left := num_all - sum(map(len, shares)):
        notes = (f'{num_left} of {num_all} images have no client',)
      has_labels = self.clients.choose_labeled(seed)
    elif self.client_test is not None:
      shares, names = data.shares, data.client_names
      has_labels = data.labeled_clients
    found = FederatedData(
      *(labeled, pool, shares, data.test, (), notes, names, None, has_labels)
    )
    if found.has_some_labels:
      note = (
        f'{len(has_labels)} of {len(shares)} clients have labels, of'
        f' {len(found.client_labels)} of {sum(map(len, shares))} images'
      )
      found = found._replace(partition_notes=(*notes, note))
    if not self.client_test or not self.client_test.client_test_fraction:
      return found
    return found._replace(**self.client_test.hold_out(pool, shares, seed))

  def __str__(self) -> str:
    """A piece of experiments' default names, such as '4000_iid', or ''."""
    partition = self.clients and self.clients.partition
    pieces = [str(each) for each in (self.server, partition) if each]
    share = settings.as_dict(self).get('labeled_client_share')
    pieces.append('' if share is None else f'labeled{share:g}')
    if self.client_test and self.client_test.client_test_fraction:
      pieces.append(f'clienttest{self.client_test.client_test_fraction:g}')
    return '_'.join(filter(None, pieces))


def choose_data_split(
  labels: system_lib.Labels, *, is_given: bool
) -> DataSplit | None:
  """The split that a system needs; None if the task does not allow that split.

  `is_given` says whether the task defines the partition. Such a task allows
  labels at some clients, but not at all clients.
  """
  kinds = system_lib.Labels
  if is_given and labels in (kinds.AT_CLIENTS, kinds.AT_SERVER_AND_CLIENTS):
    return None
  server = _ServerLabels()
  if labels in (kinds.AT_CLIENTS, kinds.AT_SOME_CLIENTS):
    server = None
  elif is_given or labels is kinds.ALL_AT_SERVER:
    server = Validation()
  clients = partitions.Clients()
  if labels.at_some_clients:
    clients = partitions.SomeLabeledClients()
  return DataSplit(
    server=server,
    clients=clients if labels.has_clients and not is_given else None,
    client_test=client_test_lib.ClientTestSplit()
    if labels.has_clients
    else None,
    has_pool=labels not in (kinds.AT_SERVER_ALONE, kinds.ALL_AT_SERVER),
  )


def _create_pool(
  data: sources.TaskData, unlabeled: np.ndarray
) -> sources.ImagePool:
  """The pool of unlabeled images: training images, then the task's own pool."""
  pool = sources.ImagePool(*data.train.select(unlabeled))
  if data.unlabeled is None:
    return pool
  more = _pool_of_task(data)
  if not len(unlabeled):
    # Not copied, because memory may not suffice.
    return more
  return sources.ImagePool(*map(np.concatenate, zip(pool, more, strict=True)))


def _pool_of_task(data: sources.TaskData) -> sources.ImagePool:
  """The task's own pool of clients' images, with their labels if known."""
  if data.unlabeled_labels is None:
    return _pool_of_unknown_classes(data.unlabeled)
  return sources.ImagePool(data.unlabeled, data.unlabeled_labels)


def _pool_of_unknown_classes(images: sources.Images) -> sources.ImagePool:
  labels = np.full(len(images), sources.UNKNOWN_LABEL, np.int32)
  return sources.ImagePool(images, labels)
