# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The ways to share out images among clients, as parts with settings."""

import abc
from collections.abc import Callable, Sequence
import dataclasses
from typing import ClassVar

import numpy as np

from tff_semifl import settings
from tff_semifl.data import main_class_partition
from tff_semifl.data import partition
from tff_semifl.data import skewed_partition
from tff_semifl.settings import references


class Partition(settings.Settings, abc.ABC):
  """Base of the ways to share out images.

  Attributes:
    name: How it is called.
    words: The same in a few words, with settings by name in braces.
  """

  name: ClassVar[str]
  words: ClassVar[str]

  @abc.abstractmethod
  def share_out(
    self, labels: np.ndarray, num_classes: int, num_clients: int, seed: int
  ) -> Sequence[np.ndarray]:
    """Shares out images.

    Args:
      labels: int [num_images], the true classes.
      num_classes: Number of classes.
      num_clients: Number of clients.
      seed: The run's seed.

    Returns:
      For each client the int64 indices of its images.

    Raises:
      ValueError: If it is not possible.
    """

  def count_left(self, num_images: int, num_clients: int) -> int:
    """Returns how many images no client gets, by definition."""
    del num_images, num_clients  # It shares out all of them.
    return 0

  def describe(
    self, labels: np.ndarray, shares: Sequence[np.ndarray]
  ) -> tuple[str, ...]:
    """Returns a line on each way in which shares are not what was asked for.

    Args:
      labels: int [num_images], as in `share_out`.
      shares: For each client the indices of its images.
    """
    num_left = len(labels) - sum(map(len, shares))
    if not num_left:
      return ()
    return (
      f'{num_left} of {len(labels)} images have no client, as each of'
      f' {len(shares)} clients has {len(shares[0])}',
    )

  @property
  def description(self) -> str:
    """In a few words, with its number."""
    return self.words.format(**settings.as_dict(self))

  def __str__(self) -> str:
    """Returns its piece of the default name of an experiment."""
    values = settings.as_dict(self).values()
    return self.name + ''.join(str(value) for value in values)


@dataclasses.dataclass(frozen=True, kw_only=True)
class IID(Partition):
  """The same number of images each, at random (C.5)."""

  name = 'iid'
  words = 'IID'

  def share_out(
    self, labels: np.ndarray, num_classes: int, num_clients: int, seed: int
  ) -> Sequence[np.ndarray]:
    """Shares out images."""
    del num_classes  # It makes no difference.
    with settings.blame('num_clients', num_clients):
      return partition.partition_iid(len(labels), num_clients, seed)

  def count_left(self, num_images: int, num_clients: int) -> int:
    """Returns how many images no client gets: those that do not divide."""
    return num_images % num_clients


@dataclasses.dataclass(frozen=True, kw_only=True)
class Classes(Partition):
  """A few classes each (C.5)."""

  name = 'classes'
  words = '{classes_per_client} classes per client'
  classes_per_client: int = settings.setting(
    2, "Classes of a client; 2 as in SemiFL's paper.", settings.AT_LEAST_1
  )

  def share_out(
    self, labels: np.ndarray, num_classes: int, num_clients: int, seed: int
  ) -> Sequence[np.ndarray]:
    """Shares out images."""
    return skewed_partition.partition_classes(
      labels, num_classes, self.classes_per_client, num_clients, seed
    )

  def describe(
    self, labels: np.ndarray, shares: Sequence[np.ndarray]
  ) -> tuple[str, ...]:
    """Returns a line if clients have fewer classes than they were to have."""
    numbers = np.array([len(np.unique(labels[share])) for share in shares])
    num_fewer = np.count_nonzero(numbers < self.classes_per_client)
    if not num_fewer:
      return ()
    return (
      f'{num_fewer} of {len(shares)} clients have fewer than'
      f' {self.classes_per_client} classes, {numbers.min()} at least, as some'
      " of a client's parts may be of the same class",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dirichlet(Partition):
  """A random mix of classes each (C.5)."""

  name = 'dirichlet'
  words = 'Dirichlet {dirichlet_concentration}'
  dirichlet_concentration: float = settings.setting(
    0.3,
    "How alike clients are; SemiFL's paper has 0.1 and 0.3.",
    settings.between(
      skewed_partition.LEAST_CONCENTRATION, skewed_partition.MOST_CONCENTRATION
    ),
  )

  def share_out(
    self, labels: np.ndarray, num_classes: int, num_clients: int, seed: int
  ) -> Sequence[np.ndarray]:
    """Shares out images."""
    del num_classes  # The labels have them.
    return skewed_partition.partition_dirichlet(
      labels, self.dirichlet_concentration, num_clients, seed
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class MainClasses(Partition):
  """One class or several more than others each (Zhang et al., equation 8)."""

  name = 'main_classes'
  words = 'main classes, R = {skew}'
  skew: float = settings.setting(
    0.4,
    'R of Zhang et al.: from 0, clients are alike, to 1, each has its main'
    ' classes alone (equation 8, D32).',
    settings.FRACTION,
  )

  def share_out(
    self, labels: np.ndarray, num_classes: int, num_clients: int, seed: int
  ) -> Sequence[np.ndarray]:
    """Shares out images."""
    return main_class_partition.partition_main_classes(
      labels, num_classes, self.skew, num_clients, seed
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutsidePartition(Partition):
  """A function of another package.

  Attributes:
    reference: Its name in records, 'package.module:NAME'.
    function: (labels, num_classes, num_clients, seed) -> shares, as
      `Partition.share_out`.
  """

  reference: str
  function: Callable[[np.ndarray, int, int, int], Sequence[np.ndarray]]

  @property
  def name(self) -> str:
    """The name of the function."""
    return self.reference.rpartition(':')[2]

  @property
  def description(self) -> str:
    """The name of the function."""
    return self.name

  def share_out(
    self, labels: np.ndarray, num_classes: int, num_clients: int, seed: int
  ) -> Sequence[np.ndarray]:
    """Shares out images."""
    shares = self.function(labels, num_classes, num_clients, seed)
    if len(shares) != num_clients:
      raise ValueError(
        f'{self.reference} made {len(shares)} shares for {num_clients} clients'
      )
    return [np.asarray(share, np.int64) for share in shares]


def load_outside(reference: str) -> Partition:
  """Returns a partition of another package.

  Args:
    reference: 'package.module:NAME' of a function, see `OutsidePartition`, or
      of a `Partition`.

  Raises:
    ValueError: If there is none.
  """
  found = references.load(reference)
  if isinstance(found, Partition) or isinstance(found, type):
    return settings.outside(Partition)(reference)
  if not callable(found):
    raise ValueError(
      f'is a {type(found).__name__}; must be a function (labels, num_classes,'
      ' num_clients, seed) -> indices of the images of each client'
    )
  return OutsidePartition(reference=reference, function=found)


PARTITIONS = {
  part.name: part for part in (IID(), Classes(), Dirichlet(), MainClasses())
}
MEANING = (
  'How unlabeled images are shared among clients: iid, at random and evenly;'
  ' classes, a few classes each; dirichlet, a random mix of classes each;'
  ' main_classes, one class more than others each, or with fewer clients than'
  ' classes several, as Zhang et al. have it.'
)
