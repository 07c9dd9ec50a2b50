# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Settings that decide who gets which images of a task."""

import abc
from collections.abc import Mapping, Sequence
import dataclasses

import numpy as np

from tff_semifl import settings
from tff_semifl.data import partition as partition_lib
from tff_semifl.data import sources
from tff_semifl.experiments import federated_data
from tff_semifl.experiments import image_task
from tff_semifl.experiments import partitions
from tff_semifl.experiments import validation as validation_lib
from tff_semifl.systems import system as system_lib


class DataSplit(settings.Settings, abc.ABC):
  """Base of the rules that decide who gets which images of a task."""

  @abc.abstractmethod
  def split(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> federated_data.FederatedData:
    """Splits a task's images among server, clients and test.

    Args:
      seed: The run's seed.
    """

  def describe(self, data: federated_data.FederatedData) -> tuple[str, ...]:
    """Lines on how the split differs from what was asked for."""
    del data  # Most do not divide images by a rule.
    return ()

  @property
  def description(self) -> str:
    """A few words on the partition among clients."""
    return 'no clients'

  def __str__(self) -> str:
    """The part of an experiment's default name; may be empty."""
    return ''


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Clients(settings.Settings):
  """The number of clients and the partition among them."""

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
    # What is wrong may be any of several numbers; the message says which.
    with settings.blame('partition', self.partition.name):
      shares = self.partition.split(labels, num_classes, self.num_clients, seed)
      partition_lib.check_all_are_shared(
        shares,
        len(labels),
        num_left=self.partition.count_left(len(labels), self.num_clients),
      )
    return shares

  def describe(self, data: federated_data.FederatedData) -> tuple[str, ...]:
    """Lines on how the partition differs from what was asked for."""
    return self.partition.describe(data.unlabeled.true_labels, data.shares)


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

  def split(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> tuple[partition_lib.LabelSplit, image_task.TaskData]:
    """Splits training images by label, and chooses the test images."""
    with settings.blame('num_labeled', self.num_labeled):
      split = partition_lib.split_labels(
        data.train.labels, self.num_labeled, task.num_classes, seed
      )
    labeled, data = self.validation.hold_out(data, split.labeled, seed)
    return split._replace(labeled=labeled), data

  def __str__(self) -> str:
    """The part of an experiment's default name."""
    return '_'.join(filter(None, [str(self.num_labeled), str(self.validation)]))


class _AmongClients(DataSplit):
  """Images are divided among clients by a rule."""

  clients: _Clients

  def describe(self, data: federated_data.FederatedData) -> tuple[str, ...]:
    """Lines on how the partition differs from what was asked for."""
    return self.clients.describe(data)

  @property
  def description(self) -> str:
    """A few words on the partition among clients."""
    return self.clients.partition.description


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerAndClients(_AmongClients):
  """Labeled images at the server, all other images at clients.

  Images of unknown class follow the training images whose labels are hidden.
  """

  server: _ServerLabels = _ServerLabels()
  clients: _Clients = _Clients()

  def split(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> federated_data.FederatedData:
    """Splits a task's images."""
    split, data = self.server.split(task, data, seed)
    unlabeled = _create_pool(data, split)
    return federated_data.FederatedData(
      labeled=data.train.select(split.labeled),
      unlabeled=unlabeled,
      shares=self.clients.split(unlabeled.true_labels, task.num_classes, seed),
      test=data.test,
    )

  def __str__(self) -> str:
    """The part of an experiment's default name."""
    return f'{self.server}_{self.clients.partition}'


@dataclasses.dataclass(frozen=True, kw_only=True)
class _AllLabeled(DataSplit):
  """All training images are labeled."""

  validation: validation_lib.Validation = validation_lib.Validation()

  def __str__(self) -> str:
    """The part of an experiment's default name; may be empty."""
    return str(self.validation)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GivenShares(_AllLabeled):
  """The split that the task itself gives."""

  def split(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> federated_data.FederatedData:
    """Splits a task's images."""
    data = self.validation.hold_out_of_all(data, seed)
    order = partition_lib.shuffle(len(data.train.labels), seed)
    return federated_data.FederatedData(
      labeled=data.train.select(order),
      unlabeled=federated_data.pool_of_task(data),
      shares=data.shares,
      test=data.test,
      given_names=data.client_names,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _AtServer(DataSplit):
  """All images are at the server, some of them labeled."""

  server: _ServerLabels = _ServerLabels()

  def __str__(self) -> str:
    """The part of an experiment's default name."""
    return str(self.server)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerAlone(_AtServer):
  """Labeled images at the server; the other images are unused."""

  def split(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> federated_data.FederatedData:
    """Splits a task's images."""
    split, data = self.server.split(task, data, seed)
    labeled = data.train.select(split.labeled)
    return federated_data.FederatedData(
      labeled, _no_clients(data), [], data.test
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerWithPool(_AtServer):
  """Labeled and unlabeled images at the server, and no clients."""

  def split(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> federated_data.FederatedData:
    """Splits a task's images."""
    split, data = self.server.split(task, data, seed)
    return federated_data.FederatedData(
      labeled=data.train.select(split.labeled),
      unlabeled=_create_pool(data, split),
      shares=[],
      test=data.test,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class GivenPool(_AllLabeled):
  """The task's labeled images and its clients' images, all at the server."""

  def split(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> federated_data.FederatedData:
    """Splits a task's images."""
    del task
    data = self.validation.hold_out_of_all(data, seed)
    unlabeled = federated_data.pool_of_task(data)
    return federated_data.FederatedData(data.train, unlabeled, [], data.test)


@dataclasses.dataclass(frozen=True, kw_only=True)
class AllAtServer(_AllLabeled):
  """All training images at the server, with labels."""

  def split(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> federated_data.FederatedData:
    """Splits a task's images."""
    del task
    data = self.validation.hold_out_of_all(data, seed)
    return federated_data.FederatedData(
      data.train, _no_clients(data), [], data.test
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabeledClients(_AmongClients):
  """All training images at clients, with labels."""

  clients: _Clients = _Clients()

  def split(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> federated_data.FederatedData:
    """Splits a task's images."""
    return federated_data.FederatedData(
      labeled=data.train.select([]),
      unlabeled=sources.ImagePool(*data.train),
      shares=self.clients.split(data.train.labels, task.num_classes, seed),
      test=data.test,
    )

  def __str__(self) -> str:
    """The part of an experiment's default name."""
    return str(self.clients.partition)


_SPLITS: Mapping[system_lib.Labels, DataSplit] = {
  system_lib.Labels.AT_SERVER: ServerAndClients(),
  system_lib.Labels.AT_SERVER_ALONE: ServerAlone(),
  system_lib.Labels.AT_SERVER_WITH_POOL: ServerWithPool(),
  system_lib.Labels.ALL_AT_SERVER: AllAtServer(),
  system_lib.Labels.AT_CLIENTS: LabeledClients(),
  system_lib.Labels.AT_SERVER_AND_CLIENTS: ServerAndClients(),
}


def choose_data_split(
  labels: system_lib.Labels, *, is_given: bool
) -> DataSplit | None:
  """The split that a system needs.

  Returns:
    The split; None if the system needs labeled clients, and the task's clients
    have no labels.
  """
  if not is_given:
    return _SPLITS[labels]
  if labels in (
    system_lib.Labels.AT_CLIENTS,
    system_lib.Labels.AT_SERVER_AND_CLIENTS,
  ):
    return None
  if labels is system_lib.Labels.AT_SERVER:
    return GivenShares()
  if labels is system_lib.Labels.AT_SERVER_WITH_POOL:
    return GivenPool()
  return AllAtServer()


def _create_pool(
  data: image_task.TaskData, split: partition_lib.LabelSplit
) -> sources.ImagePool:
  """The unlabeled images; those of unknown class come last."""
  pool = sources.ImagePool(*data.train.select(split.unlabeled))
  if data.unlabeled is None:
    return pool
  more = federated_data.pool_of_task(data)
  if not len(split.unlabeled):
    # There may be no memory for a copy.
    return more
  return sources.ImagePool(*map(np.concatenate, zip(pool, more, strict=True)))


def _no_clients(data: image_task.TaskData) -> sources.ImagePool:
  return sources.ImagePool(*data.train.select([]))
