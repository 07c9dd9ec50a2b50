# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The settings that say who gets which images of a task."""

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


class Sharing(settings.Settings, abc.ABC):
  """Base of the parts that say who gets which images of a task."""

  @abc.abstractmethod
  def share_out(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> federated_data.FederatedData:
    """Shares out a task's images.

    Args:
      task: The task.
      data: Its images.
      seed: The run's seed.

    Raises:
      settings.SettingError: If that is not possible.
    """

  def describe(self, data: federated_data.FederatedData) -> tuple[str, ...]:
    """Returns a line on each way in which shares are not what was asked for.

    Args:
      data: The images, shared out.
    """
    del data  # Most do not divide images by a rule.
    return ()

  @property
  def description(self) -> str:
    """In a few words, how images are shared among clients."""
    return 'no clients'

  def __str__(self) -> str:
    """Returns its piece of the default name of an experiment, or nothing."""
    return ''


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Clients(settings.Settings):
  """The clients, and the shares of images that they have."""

  num_clients: int = settings.setting(
    100, 'Clients in all.', settings.AT_LEAST_1
  )
  partition: partitions.Partition = settings.choice(
    partitions.PARTITIONS,
    'iid',
    partitions.MEANING,
    load=partitions.load_outside,
  )

  def share_out(
    self, labels: np.ndarray, num_classes: int, seed: int
  ) -> Sequence[np.ndarray]:
    """Returns for each client the indices of its images."""
    # What is wrong may be any of several numbers; the message says which.
    with settings.blame('partition', self.partition.name):
      shares = self.partition.share_out(
        labels, num_classes, self.num_clients, seed
      )
      partition_lib.check_all_are_shared(
        shares,
        len(labels),
        num_left=self.partition.count_left(len(labels), self.num_clients),
      )
    return shares

  def describe(self, data: federated_data.FederatedData) -> tuple[str, ...]:
    """Returns what the partition says of the shares."""
    return self.partition.describe(data.unlabeled.true_labels, data.shares)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _ServerLabels(settings.Settings):
  """The labels of the server, to train on and to validate on."""

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
    """Returns which training images the server has, and what to test on."""
    with settings.blame('num_labeled', self.num_labeled):
      split = partition_lib.split_labels(
        data.train.labels, self.num_labeled, task.num_classes, seed
      )
    labeled, data = self.validation.hold_out(data, split.labeled, seed)
    return split._replace(labeled=labeled), data

  def __str__(self) -> str:
    """Returns its piece of the default name of an experiment."""
    return '_'.join(filter(None, [str(self.num_labeled), str(self.validation)]))


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerAndClients(Sharing):
  """The server has some labels, and clients have the other images.

  The clients' are those of the training images that the server has no label
  of, and the task's images of unknown classes after them.
  """

  server: _ServerLabels = _ServerLabels()
  clients: _Clients = _Clients()

  def share_out(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> federated_data.FederatedData:
    """Shares out a task's images."""
    split, data = self.server.split(task, data, seed)
    unlabeled = _create_pool(data, split)
    return federated_data.FederatedData(
      labeled=data.train.select(split.labeled),
      unlabeled=unlabeled,
      shares=self.clients.share_out(
        unlabeled.true_labels, task.num_classes, seed
      ),
      test=data.test,
      training_order=_invert(
        np.concatenate([split.labeled, split.unlabeled]),
        len(unlabeled.images) - len(split.unlabeled),
      ),
    )

  def describe(self, data: federated_data.FederatedData) -> tuple[str, ...]:
    """Returns what the partition says of the shares."""
    return self.clients.describe(data)

  @property
  def description(self) -> str:
    """In a few words, how images are shared among clients."""
    return self.clients.partition.description

  def __str__(self) -> str:
    """Returns its piece of the default name of an experiment."""
    return f'{self.server}_{self.clients.partition}'


@dataclasses.dataclass(frozen=True, kw_only=True)
class _AllLabeled(Sharing):
  """All images of the training set are the server's, with their labels."""

  validation: validation_lib.Validation = validation_lib.Validation()

  def __str__(self) -> str:
    """Returns its piece of the default name of an experiment, or nothing."""
    return str(self.validation)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GivenShares(_AllLabeled):
  """The task itself says who has which images."""

  def share_out(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> federated_data.FederatedData:
    """Shares out a task's images."""
    data = self.validation.hold_out_of_all(data, seed)
    order = partition_lib.shuffle(len(data.train.labels), seed)
    return federated_data.FederatedData(
      labeled=data.train.select(order),
      unlabeled=federated_data.pool_of_task(data),
      shares=data.shares,
      test=data.test,
      training_order=_invert(order, len(data.unlabeled)),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerAlone(Sharing):
  """The server has some labels, and nobody has the other images."""

  server: _ServerLabels = _ServerLabels()

  def share_out(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> federated_data.FederatedData:
    """Shares out a task's images."""
    split, data = self.server.split(task, data, seed)
    labeled = data.train.select(split.labeled)
    return federated_data.FederatedData(
      labeled, _no_clients(data), [], data.test
    )

  def __str__(self) -> str:
    """Returns its piece of the default name of an experiment."""
    return str(self.server)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerWithPool(Sharing):
  """The server has some labels, and the other images without labels.

  These are what clients have where there are any, in one place.
  """

  server: _ServerLabels = _ServerLabels()

  def share_out(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> federated_data.FederatedData:
    """Shares out a task's images."""
    split, data = self.server.split(task, data, seed)
    return federated_data.FederatedData(
      labeled=data.train.select(split.labeled),
      unlabeled=_create_pool(data, split),
      shares=[],
      test=data.test,
    )

  def __str__(self) -> str:
    """Returns its piece of the default name of an experiment."""
    return str(self.server)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GivenPool(_AllLabeled):
  """The task's labels, and the images of its clients in one place."""

  def share_out(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> federated_data.FederatedData:
    """Shares out a task's images."""
    del task
    data = self.validation.hold_out_of_all(data, seed)
    unlabeled = federated_data.pool_of_task(data)
    return federated_data.FederatedData(data.train, unlabeled, [], data.test)


@dataclasses.dataclass(frozen=True, kw_only=True)
class AllAtServer(_AllLabeled):
  """The server has all images of the training set, with their labels."""

  def share_out(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> federated_data.FederatedData:
    """Shares out a task's images."""
    del task
    data = self.validation.hold_out_of_all(data, seed)
    return federated_data.FederatedData(
      data.train, _no_clients(data), [], data.test
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabeledClients(Sharing):
  """Clients have all images of the training set, with their labels (D.7)."""

  clients: _Clients = _Clients()

  def share_out(
    self, task: image_task.ImageTask, data: image_task.TaskData, seed: int
  ) -> federated_data.FederatedData:
    """Shares out a task's images."""
    return federated_data.FederatedData(
      labeled=data.train.select([]),
      unlabeled=sources.ImagePool(*data.train),
      shares=self.clients.share_out(data.train.labels, task.num_classes, seed),
      test=data.test,
    )

  def describe(self, data: federated_data.FederatedData) -> tuple[str, ...]:
    """Returns what the partition says of the shares."""
    return self.clients.describe(data)

  @property
  def description(self) -> str:
    """In a few words, how images are shared among clients."""
    return self.clients.partition.description

  def __str__(self) -> str:
    """Returns its piece of the default name of an experiment."""
    return str(self.clients.partition)


_SHARINGS: Mapping[system_lib.Labels, Sharing] = {
  system_lib.Labels.AT_SERVER: ServerAndClients(),
  system_lib.Labels.AT_SERVER_ALONE: ServerAlone(),
  system_lib.Labels.AT_SERVER_WITH_POOL: ServerWithPool(),
  system_lib.Labels.ALL_AT_SERVER: AllAtServer(),
  system_lib.Labels.AT_CLIENTS: LabeledClients(),
  system_lib.Labels.AT_SERVER_AND_CLIENTS: ServerAndClients(),
}


def choose_sharing(
  labels: system_lib.Labels, *, is_given: bool
) -> Sharing | None:
  """Returns how images are to be shared out.

  Args:
    labels: Who has labels in the system that is trained.
    is_given: Whether the task says which client has which images.

  Returns:
    The part; None if the task's clients have no labels, which they need.
  """
  if not is_given:
    return _SHARINGS[labels]
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


def _invert(order: np.ndarray, num_others: int) -> np.ndarray:
  """Returns what undoes an order of images, others after them unchanged."""
  others = np.arange(len(order), len(order) + num_others)
  return np.concatenate([np.argsort(order), others])


def _create_pool(
  data: image_task.TaskData, split: partition_lib.LabelSplit
) -> sources.ImagePool:
  """Returns the images without labels, those of unknown classes last."""
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
