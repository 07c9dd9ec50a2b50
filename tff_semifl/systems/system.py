# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A system: settings of a way to train, and the process that they make."""

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
import dataclasses
import enum
import types
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tff_semifl import settings
from tff_semifl.aggregation import aggregator_settings
from tff_semifl.augment import augmentation
from tff_semifl.core import federated_process
from tff_semifl.data import sources
from tff_semifl.models import functional
from tff_semifl.privacy import privacy_key as privacy_key_lib
from tff_semifl.runs import memories
from tff_semifl.runs import outputs
from tff_semifl.training import turn_form as turn_form_lib


class Labels(enum.Enum):
  """The place of labels in a federation."""

  # The server has some labels, clients have the other images.
  AT_SERVER = enum.auto()
  # The server has some labels, and nobody has the other images.
  AT_SERVER_ALONE = enum.auto()
  # The server has all images, and labels of some: one place, no clients.
  AT_SERVER_WITH_POOL = enum.auto()
  # The server has all images, with their labels.
  ALL_AT_SERVER = enum.auto()
  # Clients have all images, with their labels, and the server none.
  AT_CLIENTS = enum.auto()
  # The server has some labels, and clients have those of the other images.
  AT_SERVER_AND_CLIENTS = enum.auto()

  @property
  def all_clients_take_part(self) -> bool:
    """True if all clients do in each round but round 0."""
    return False

  @property
  def has_clients(self) -> bool:
    """True if there are clients."""
    return self not in (
      Labels.AT_SERVER_ALONE,
      Labels.AT_SERVER_WITH_POOL,
      Labels.ALL_AT_SERVER,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ingredients:
  """The parts that a process is built of, beside its settings.

  Attributes:
    classifier: The model.
    weak_augmentation: (uint8 images, stateless seed) -> uint8 images; small
      changes, for labeled images and for pseudo-labels.
    strong_augmentation: Likewise; large changes, for the images that clients
      train on.
    seed: The run's seed.
    privacy_key: What noise follows from; None without differential privacy.
    computes_statistics: Whether rounds end with static batch normalization
      statistics of the server's images (D10). If not, they stay as they are,
      for whoever computes them between rounds.
    returns_given_labels: Whether rounds return the pseudo-labels that clients
      gave, for a simulation that knows the truth.
    turn_form: The form of the turns of clients.
  """

  classifier: functional.ImageClassifier
  weak_augmentation: augmentation.Augmentation
  strong_augmentation: augmentation.Augmentation
  seed: int = 0
  privacy_key: privacy_key_lib.PrivacyKey | None = None
  computes_statistics: bool = True
  returns_given_labels: bool = False
  turn_form: turn_form_lib.TurnForm = turn_form_lib.DYNAMIC


class Trained(NamedTuple):
  """A trained model, and what a system may say of it.

  Attributes:
    classifier: The model.
    weights: Its weights, those that are exported.
    round_num: Their round.
    labeled: The server's examples.
    find_right: Weights -> bool [images], which images to evaluate on they are
      right on.
    metrics: The metrics of the last round, by column of the table.
  """

  classifier: functional.ImageClassifier
  weights: functional.ModelWeights
  round_num: int
  labeled: sources.LabeledImages
  find_right: Callable[[functional.ModelWeights], np.ndarray]
  metrics: Mapping[str, float]


class Steps(NamedTuple):
  """The optimizer steps of a round.

  Attributes:
    server: Those of the server.
    client: Those of the client that takes most of them.
  """

  server: int
  client: int


class System(settings.Settings, abc.ABC):
  """Base of the systems: a part with all settings of a way to train.

  A subclass is a frozen dataclass. It has the settings `total_rounds`,
  `clients_per_round` and `client_dropout_probability` somewhere in its tree
  where they mean anything.

  Attributes:
    usual: Settings of data, model and run, by name, that the system's paper has
      and that differ from SemiFL's.
    labels: Who has labels.
    clients_know_turns: Whether clients know in how many rounds they took part.
    cohorts_are_passes: Whether all clients take part before any does again.
    gathers_images: Whether it has the images of clients in one place, as only a
      simulation can.
    chooses_statistics: Whether it is the user's choice which images the
      statistics of batch normalization are of.
    models: Names of the models that it can train; none if any will do.
    lengths: Names of its settings that say how long training is, beside
      `total_rounds`.
  """

  usual: ClassVar[Mapping[str, Any]] = types.MappingProxyType({})
  labels: ClassVar[Labels] = Labels.AT_SERVER
  clients_know_turns: ClassVar[bool] = False
  cohorts_are_passes: ClassVar[bool] = False
  gathers_images: ClassVar[bool] = False
  chooses_statistics: ClassVar[bool] = True
  models: ClassVar[tuple[str, ...]] = ()
  lengths: ClassVar[tuple[str, ...]] = ()

  @property
  def summary(self) -> str:
    """A line on what it is."""
    return summarize(self)

  @abc.abstractmethod
  def build(
    self, ingredients: Ingredients
  ) -> federated_process.FederatedProcess:
    """Builds the process."""

  @abc.abstractmethod
  def count_steps(self, num_labeled: int, client_sizes: Sequence[int]) -> Steps:
    """Counts the steps of a round.

    Args:
      num_labeled: Labeled images at the server.
      client_sizes: Images of each client.
    """

  def check_num_clients(self, num_clients: int) -> None:
    """Checks that the system can train with so many clients; by default it can.

    Args:
      num_clients: All clients that there are.

    Raises:
      settings.SettingError: If a setting needs more of them.
    """
    del num_clients  # See the subclasses whose settings depend on it.

  def describe_result(self, trained: Trained) -> Iterator[str]:
    """Yields lines on what was trained; most systems have none.

    Args:
      trained: What was trained.
    """
    del trained
    return iter(())

  def create_memories(
    self,
    process: federated_process.FederatedProcess,
    folder: outputs.ExperimentFolder,
    *,
    num_clients: int,
    num_kept: int,
  ) -> memories.Memories | None:
    """Creates what keeps the memories of clients; by default each its own.

    Args:
      process: From `build`.
      folder: Where files may be kept.
      num_clients: All clients that there are.
      num_kept: How many of the last rounds must be possible to go back to.

    Returns:
      The memories, or None if nothing of a client is remembered.
    """
    del num_clients  # Only those that took part have a memory.
    if process.initialize_memory is None:
      return None
    return folder.client_memories(process.initialize_memory, num_kept)

  @property
  def labels_by_received_model(self) -> bool:
    """True if clients label images with the model that they receive.

    They do so by its batch normalization statistics.
    """
    return False

  @property
  def measures_pseudo_labels(self) -> bool:
    """True if pseudo-labels are compared with the truth, where it is known."""
    return False

  @property
  def weighs_clients(self) -> bool:
    """True if updates of clients that train may differ in weight."""
    return False

  @property
  def uses_strong_views(self) -> bool:
    """True if strong views are trained on."""
    return True

  @property
  def aggregation(self) -> aggregator_settings.ChosenAggregator | None:
    """The aggregation of updates; None where there is no choice."""
    return None

  @property
  def total_rounds(self) -> int:
    """The last round; round 0 comes before the first."""
    return settings.as_dict(self)['total_rounds']

  @property
  def rounds_may_be_added(self) -> bool:
    """True if no round depends on how many there are.

    A run can be given more rounds then, and is as if it had had them from the
    beginning.
    """
    return False

  @property
  def clients_per_round(self) -> int | None:
    """Clients that take part in a round, where they are chosen.

    None if that is to depend on how many there are and is not filled in.
    """
    return settings.as_dict(self).get('clients_per_round', 0)

  @property
  def all_clients_take_part(self) -> bool:
    """True if all clients do in each round but round 0."""
    return False

  @property
  def has_clients(self) -> bool:
    """True if there are rounds in which clients may take part."""
    return self.all_clients_take_part or 'clients_per_round' in (
      settings.as_dict(self)
    )

  @property
  def clients_have_labels(self) -> bool:
    """True if clients train on true labels."""
    return self.labels in (Labels.AT_CLIENTS, Labels.AT_SERVER_AND_CLIENTS)

  @property
  def server_has_labels(self) -> bool:
    """True if the server has images."""
    return self.labels is not Labels.AT_CLIENTS


def summarize(part: settings.Settings) -> str:
  """Returns the first line of a part's docstring."""
  return (type(part).__doc__ or '').partition('\n')[0]
