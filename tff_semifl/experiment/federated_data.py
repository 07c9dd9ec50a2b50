# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Splits a task's images among server and clients."""

from collections.abc import Sequence
import dataclasses
from typing import NamedTuple

import numpy as np

from tff_semifl import settings
from tff_semifl.algorithms import system as system_lib
from tff_semifl.data import partition as partition_lib
from tff_semifl.data import sources
from tff_semifl.experiment import image_task
from tff_semifl.experiment import partitions
from tff_semifl.experiment import validation as validation_lib


class FederatedData(NamedTuple):
  """The images of the server and of each client.

  Attributes:
    labeled: The server's images.
    unlabeled: The images of all clients.
    shares: For each client the int64 indices of its images in `unlabeled`.
    test: Images to evaluate on: test or validation images.
    equal_images: A line for each kind of duplicates.
    partition_notes: Lines on how the partition differs from the settings.
    given_names: A name for each client; None for numbers.
  """

  labeled: sources.LabeledImages
  unlabeled: sources.ImagePool
  shares: Sequence[np.ndarray]
  test: sources.LabeledImages
  equal_images: tuple[str, ...] = ()
  partition_notes: tuple[str, ...] = ()
  given_names: Sequence[str] | None = None

  @property
  def client_names(self) -> Sequence[str]:
    """A name for each client: the user's, or a number."""
    return self.given_names or [*map(str, range(len(self.shares)))]

  @property
  def notes(self) -> tuple[str, ...]:
    """All remarks on the data."""
    return self.partition_notes + self.equal_images

  @property
  def measures_clients(self) -> bool:
    """Whether any image of a client has a label, even if only for metrics."""
    labels = self.unlabeled.true_labels
    return any(
      bool(np.any(labels[share] != sources.UNKNOWN_LABEL))
      for share in self.shares
    )

  def at_server(self, labels: system_lib.Labels) -> sources.LabeledImages:
    """The images that the server trains on.

    Unlabeled images of the server, if any, come after labeled images, with
    `sources.UNKNOWN_LABEL`.
    """
    if labels is not system_lib.Labels.AT_SERVER_WITH_POOL:
      return self.labeled
    pool = _pool_of_unknown_classes(self.unlabeled.images)
    return sources.LabeledImages(
      *map(np.concatenate, zip(self.labeled, pool, strict=True))
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Clients(settings.Settings):
  """The number of clients, and the partition among clients."""

  num_clients: int = settings.setting(
    100, 'Clients in all.', settings.AT_LEAST_1
  )
  partition: partitions.Partition = settings.choice(
    partitions.PARTITIONS,
    'iid',
    partitions.MEANING,
    load=partitions.load_outside,
  )

  def split(
    self, labels: np.ndarray, num_classes: int, seed: int
  ) -> Sequence[np.ndarray]:
    """The indices of each client's images."""
    # Any of several numbers may be wrong; the message says which.
    with settings.blame('partition', self.partition.name):
      shares = self.partition.split(labels, num_classes, self.num_clients, seed)
      partition_lib.check_shares(shares, len(labels))
    return shares


@dataclasses.dataclass(frozen=True, kw_only=True)
class _ServerLabels(settings.Settings):
  """The server's labeled images, for training and validation."""

  num_labeled: int | None = settings.setting(
    None,
    'Labeled images at the server, the same number of each class. By default as'
    ' the task has it: 50 for digits, 4000 for cifar10, 10000 for cifar100,'
    ' 4700 for emnist, 1000 for svhn and stl10.',
    settings.AT_LEAST_1,
  )
  validation: validation_lib.Validation = validation_lib.Validation()

  def __str__(self) -> str:
    return '_'.join(filter(None, [str(self.num_labeled), str(self.validation)]))


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataSplit(settings.Settings):
  """How a task's images are split among server, clients and test.

  Attributes:
    server: The server's labeled images; only the validation split if all
      training images are labeled; None if clients have all images, with
      labels.
    clients: The partition; None without clients, or if the task gives it.
    has_clients: Whether there are clients.
    has_pool: Whether unlabeled images are used: training images whose labels
      are hidden, then images of unknown class.
  """

  server: _ServerLabels | validation_lib.Validation | None
  clients: _Clients | None
  has_clients: bool
  has_pool: bool

  def split(
    self, task: image_task.ImageTask, data: sources.TaskData, seed: int
  ) -> FederatedData:
    """Splits a task's images among server, clients and test."""
    pool = sources.ImagePool(*data.train.select([]))
    if self.server is None:
      labeled, pool = data.train.select([]), sources.ImagePool(*data.train)
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
      data = self.server.hold_out_of_all(data, seed)
      labeled = data.train
      if self.has_clients:
        order = partition_lib.shuffle(len(labeled.labels), seed)
        labeled = labeled.select(order)
      if self.has_pool:
        pool = _pool_of_task(data)
    shares, names = [], None
    if self.clients is not None:
      shares = self.clients.split(pool.true_labels, task.num_classes, seed)
    elif self.has_clients:
      shares, names = data.shares, data.client_names
    return FederatedData(labeled, pool, shares, data.test, given_names=names)

  def describe(self, data: FederatedData) -> tuple[str, ...]:
    """Lines on how the partition differs from the settings."""
    if self.clients is None:
      return ()
    return self.clients.partition.describe(
      data.unlabeled.true_labels, data.shares
    )

  @property
  def description(self) -> str:
    """A short description of the partition."""
    if self.clients is None:
      return 'no clients'
    return self.clients.partition.description

  def __str__(self) -> str:
    """The part of an experiment's default name; may be empty."""
    pieces = [self.server, self.clients and self.clients.partition]
    return '_'.join(filter(None, [str(each) for each in pieces if each]))


def choose_data_split(
  labels: system_lib.Labels, *, is_given: bool
) -> DataSplit | None:
  """The split that a system needs; None if the task does not allow it.

  `is_given` says whether the task gives the partition. The clients of such a
  task have no labels to train on.
  """
  kinds = system_lib.Labels
  if is_given and labels in (kinds.AT_CLIENTS, kinds.AT_SERVER_AND_CLIENTS):
    return None
  server = _ServerLabels()
  if labels is kinds.AT_CLIENTS:
    server = None
  elif is_given or labels is kinds.ALL_AT_SERVER:
    server = validation_lib.Validation()
  return DataSplit(
    server=server,
    clients=_Clients() if labels.has_clients and not is_given else None,
    has_clients=labels.has_clients,
    has_pool=labels not in (kinds.AT_SERVER_ALONE, kinds.ALL_AT_SERVER),
  )


def _create_pool(
  data: sources.TaskData, unlabeled: np.ndarray
) -> sources.ImagePool:
  """The unlabeled images; images of unknown class come last."""
  pool = sources.ImagePool(*data.train.select(unlabeled))
  if data.unlabeled is None:
    return pool
  more = _pool_of_task(data)
  if not len(unlabeled):
    # No copy, for which memory may not suffice.
    return more
  return sources.ImagePool(*map(np.concatenate, zip(pool, more, strict=True)))


def _pool_of_unknown_classes(images: sources.Images) -> sources.ImagePool:
  labels = np.full(len(images), sources.UNKNOWN_LABEL, np.int32)
  return sources.ImagePool(images, labels)


def _pool_of_task(data: sources.TaskData) -> sources.ImagePool:
  """The clients' images, with labels for metrics if the task has them."""
  if data.unlabeled_labels is None:
    return _pool_of_unknown_classes(data.unlabeled)
  return sources.ImagePool(data.unlabeled, data.unlabeled_labels)
