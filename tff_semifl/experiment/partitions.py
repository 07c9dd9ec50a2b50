# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Partitions of images among clients, with their settings."""

import abc
from collections.abc import Callable, Sequence
import dataclasses
from typing import ClassVar

import numpy as np

from tff_semifl import settings
from tff_semifl.data import partition
from tff_semifl.data import skewed_partition
from tff_semifl.randomness import random_seeds
from tff_semifl.settings import references


class Partition(settings.Settings, abc.ABC):
  """Base class of partitions, chosen by `name` (the setting `partition`)."""

  name: ClassVar[str]

  @abc.abstractmethod
  def split(
    self, labels: np.ndarray, num_classes: int, num_clients: int, seed: int
  ) -> Sequence[np.ndarray]:
    """The int64 indices of each client's images, given the true classes."""

  def __str__(self) -> str:
    """A piece of experiments' default names, such as 'dirichlet0.3'."""
    values = settings.as_dict(self).values()
    return self.name + ''.join(str(value) for value in values)


@dataclasses.dataclass(frozen=True, kw_only=True)
class IID(Partition):
  """The same number of random images for each client."""

  name = 'iid'

  def split(
    self, labels: np.ndarray, num_classes: int, num_clients: int, seed: int
  ) -> Sequence[np.ndarray]:
    del num_classes
    with settings.blame('num_clients', num_clients):
      return partition.partition_iid(len(labels), num_clients, seed)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Classes(Partition):
  """A few classes for each client (SemiFL, Section 5)."""

  name = 'classes'
  classes_per_client: int = settings.setting(
    2, "Classes of a client; 2 as in SemiFL's paper.", settings.AT_LEAST_1
  )

  def split(
    self, labels: np.ndarray, num_classes: int, num_clients: int, seed: int
  ) -> Sequence[np.ndarray]:
    return skewed_partition.partition_classes(
      labels, num_classes, self.classes_per_client, num_clients, seed
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dirichlet(Partition):
  """Class proportions of each client from a Dirichlet distribution."""

  name = 'dirichlet'
  dirichlet_concentration: float = settings.setting(
    0.3,
    'Concentration: the smaller, the fewer classes a client has. 0.1 and 0.3'
    " in SemiFL's paper.",
    settings.between(
      skewed_partition.LEAST_CONCENTRATION, skewed_partition.MOST_CONCENTRATION
    ),
  )

  def split(
    self, labels: np.ndarray, num_classes: int, num_clients: int, seed: int
  ) -> Sequence[np.ndarray]:
    del num_classes
    return skewed_partition.partition_dirichlet(
      labels, self.dirichlet_concentration, num_clients, seed
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class MainClasses(Partition):
  """More images of a client's main classes (Zhang et al., equation 8)."""

  name = 'main_classes'
  skew: float = settings.setting(
    0.4,
    'R of Zhang et al., equation 8: from 0, IID, to 1, only main classes.',
    settings.FRACTION,
  )

  def split(
    self, labels: np.ndarray, num_classes: int, num_clients: int, seed: int
  ) -> Sequence[np.ndarray]:
    return skewed_partition.partition_main_classes(
      labels, num_classes, self.skew, num_clients, seed
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutsidePartition(Partition):
  """A partition function of another package, 'package.module:NAME'."""

  reference: str
  function: Callable[[np.ndarray, int, int, int], Sequence[np.ndarray]]

  @property
  def name(self) -> str:
    return references.name_within(self.reference)

  def split(
    self, labels: np.ndarray, num_classes: int, num_clients: int, seed: int
  ) -> Sequence[np.ndarray]:
    shares = self.function(labels, num_classes, num_clients, seed)
    if not isinstance(shares, Sequence | np.ndarray):
      raise ValueError(
        f'returned a {type(shares).__name__}, not the indices of each client'
      )
    arrays = [*map(np.asarray, shares)]
    for client, array in enumerate(arrays):
      if array.ndim != 1 or (len(array) and array.dtype.kind not in 'iu'):
        raise ValueError(
          f'{self.reference} gave client {client} {array.dtype} {array.shape};'
          ' give the positions of its images, integers [images]'
        )
    num_shared = sum(map(len, arrays))
    if len(shares) != num_clients or num_shared < len(labels):
      raise ValueError(
        f'{self.reference} gave {num_shared} of {len(labels)} images to'
        f' {len(shares)} of {num_clients} clients; give all to all'
      )
    return [array.astype(np.int64) for array in arrays]


def _load_outside(reference: str) -> Partition:
  """Loads a partition of another package."""
  found = references.load(reference)
  if isinstance(found, Partition) or isinstance(found, type):
    return settings.outside(Partition)(reference)
  references.check_callable(
    found, 'labels', 'num_classes', 'num_clients', 'seed'
  )
  return OutsidePartition(reference=reference, function=found)


PARTITIONS = {
  part.name: part for part in (IID(), Classes(), Dirichlet(), MainClasses())
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Clients(settings.Settings):
  """The number of clients, and the partition among clients."""

  num_clients: int = settings.setting(
    100, 'Total number of clients.', settings.AT_LEAST_1
  )
  partition: Partition = settings.choice(
    PARTITIONS,
    'iid',
    'Partition of unlabeled images among clients: iid; classes, a few classes'
    ' each; dirichlet, class proportions from a Dirichlet distribution;'
    ' main_classes, more images of one class, or of several where classes'
    ' outnumber clients (Zhang et al.).',
    load=_load_outside,
  )

  def split(
    self, labels: np.ndarray, num_classes: int, seed: int
  ) -> Sequence[np.ndarray]:
    # One of several settings may be wrong; the message says which.
    with settings.blame('partition', self.partition.name):
      shares = self.partition.split(labels, num_classes, self.num_clients, seed)
      partition.check_shares(shares, len(labels))
    return shares

  def choose_labeled(self, seed: int) -> Sequence[int]:
    """The clients that have labels to train on; by default all clients."""
    del seed
    return range(self.num_clients)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SomeLabeledClients(Clients):
  """Clients of which a random share have labels for all of their images."""

  labeled_client_share: float = settings.setting(
    0.1,
    'Share of clients that train on labels, rounded to whole clients, drawn by'
    ' the seed. A larger share adds clients.',
    settings.FRACTION,
  )

  def choose_labeled(self, seed: int) -> Sequence[int]:
    number = round(self.labeled_client_share * self.num_clients)
    if not number:
      least = f'{1 / self.num_clients:.2g} or more'
      with settings.blame('labeled_client_share', self.labeled_client_share):
        raise ValueError(f'is none of {self.num_clients} clients; give {least}')
    generator = random_seeds.numpy_generator(
      seed, random_seeds.Purpose.LABELED_CLIENT
    )
    return generator.permutation(self.num_clients)[:number].tolist()
