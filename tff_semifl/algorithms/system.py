# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A system: the settings of a training method, and its TFF process."""

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
import dataclasses
import enum
import pathlib
import types
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tff_semifl import settings
from tff_semifl.algorithms import training_settings
from tff_semifl.augment import augmentation
from tff_semifl.core import client_states
from tff_semifl.core import federated_process
from tff_semifl.core import method
from tff_semifl.data import sources
from tff_semifl.label_shift import share_prior
from tff_semifl.models import functional
from tff_semifl.privacy import privacy_key as privacy_key_lib


class Labels(enum.Enum):
  """Where labels and images are: at the server, at clients, or both."""

  AT_SERVER = enum.auto()  # Labels at the server, unlabeled images at clients.
  AT_SERVER_ALONE = enum.auto()  # Labels at the server; no other images.
  AT_SERVER_WITH_POOL = enum.auto()  # All images in one place, a few labeled.
  ALL_AT_SERVER = enum.auto()  # All images and labels in one place.
  AT_CLIENTS = enum.auto()  # All images at clients, all with labels.
  AT_SERVER_AND_CLIENTS = enum.auto()  # Labels at the server and at clients.
  AT_SOME_CLIENTS = enum.auto()  # Labels at some clients, images at all.
  AT_SERVER_AND_SOME_CLIENTS = enum.auto()  # Also labels at the server.

  @property
  def at_some_clients(self) -> bool:
    """Whether some clients have labels and others may have none."""
    return self in (Labels.AT_SOME_CLIENTS, Labels.AT_SERVER_AND_SOME_CLIENTS)

  @property
  def has_clients(self) -> bool:
    """Whether there are clients."""
    return self not in (
      Labels.AT_SERVER_ALONE,
      Labels.AT_SERVER_WITH_POOL,
      Labels.ALL_AT_SERVER,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ingredients:
  """The model, augmentation and options from which a process is built."""

  classifier: functional.ImageClassifier
  # For labeled images and for pseudo-labels.
  weak_augmentation: augmentation.Augmentation
  # For images that clients train on.
  strong_augmentation: augmentation.Augmentation
  seed: int = 0
  # The key of the noise; None without differential privacy.
  privacy_key: privacy_key_lib.PrivacyKey | None = None
  # Whether rounds end with static batch normalization statistics of the
  # server's images.
  computes_statistics: bool = True
  # Whether rounds return clients' pseudo-labels, to compare with true labels.
  returns_given_labels: bool = False
  # Features per image from which client priors label; None for pixels.
  num_features: int | None = None
  jit_compile: bool = False  # Whether XLA compiles clients' training loops.
  num_clients: int | None = None  # The number of all clients, for methods.


class Trained(NamedTuple):
  """A trained model, as `System.describe_result` receives it."""

  classifier: functional.ImageClassifier
  weights: functional.ModelWeights  # The exported weights.
  round_num: int  # The round of the weights.
  labeled: sources.LabeledImages  # The server's examples.
  # Whether predictions with given weights are correct, bool [evaluation
  # images].
  find_right: Callable[[functional.ModelWeights], np.ndarray]
  metrics: Mapping[str, float]  # The last round's, by column of metrics.csv.


class Client(NamedTuple):
  """A client with its own predictions, the argument of `System.predict`."""

  number: int
  logits: np.ndarray  # float32 [images, classes], of unlabeled images.
  prior: share_prior.SharePrior | None  # None if none was estimated.


Process = federated_process.FederatedProcess


class Steps(NamedTuple):
  """The optimizer steps in a round, by the server and by the busiest client."""

  server: int
  client: int


class System(settings.Settings, abc.ABC):
  """Base of the systems: the settings of a training method.

  A subclass is a frozen dataclass. The settings `total_rounds`,
  `clients_per_round` and `client_dropout_probability` may be fields of the
  system or of its nested parts.
  """

  # Defaults of other settings where the system's paper differs from SemiFL's.
  usual: ClassVar[Mapping[str, Any]] = types.MappingProxyType({})
  labels: ClassVar[Labels] = Labels.AT_SERVER
  # Whether clients know the number of rounds in which they took part.
  clients_know_participation: ClassVar[bool] = False
  # Whether all clients take part once before any takes part again.
  cohorts_are_passes: ClassVar[bool] = False
  # Whether all clients take part in each round after round 0.
  all_clients_take_part: ClassVar[bool] = False
  # Whether clients' images are pooled in one place, as in a simulation.
  gathers_images: ClassVar[bool] = False
  # Whether training uses strongly augmented images.
  uses_strong_views: ClassVar[bool] = True
  # Whether users choose the images for batch normalization statistics.
  chooses_statistics: ClassVar[bool] = True
  # Whether training estimates clients' class shares; see `find_share_prior`.
  estimates_class_shares: ClassVar[bool] = False
  # Whether clients may have features in addition to images.
  labels_by_features: ClassVar[bool] = False
  # Names of the models that the system can train; empty for all models.
  models: ClassVar[tuple[str, ...]] = ()
  # Settings that limit the length of training, besides `total_rounds`.
  lengths: ClassVar[tuple[str, ...]] = ()

  @property
  def summary(self) -> str:
    """Sentences that describe the system, the client method and its parts."""
    client = self.client_method
    parts = () if client is None else (client, *client.parts.values())
    return ' '.join(map(summarize, [self, *parts]))

  @abc.abstractmethod
  def build(self, ingredients: Ingredients) -> Process:
    """Builds the TFF process of this system."""

  @abc.abstractmethod
  def count_steps(self, num_labeled: int, client_sizes: Sequence[int]) -> Steps:
    """Counts the optimizer steps of a round."""

  def check_num_clients(self, num_clients: int) -> None:
    """Raises a SettingError if settings do not suit this number of clients."""

  def describe_result(self, trained: Trained) -> Iterator[str]:
    """Lines that describe the result; by default none."""
    del trained
    return iter(())

  def predict(self, client: Client, logits: np.ndarray) -> np.ndarray:
    """A client's logits, by default adapted to the client's class shares.

    `logits`, float32 [images, classes], are logits of the exported model for
    held-out images of the client. This method is used only to measure clients'
    accuracies (`client_test_fraction`).
    """
    if client.prior is None:
      return logits
    site = share_prior.estimate_site_shares(client.logits, client.prior)
    return share_prior.adapt_logits(logits, site.shares, client.prior).numpy()

  def find_share_prior(
    self, metrics: Mapping[str, float], mean_shares: np.ndarray
  ) -> share_prior.SharePrior | None:
    """The prior of class shares that training estimated; by default None.

    `metrics` are from the round of the exported model, by column of
    metrics.csv; `mean_shares`, float32 [classes], are the class shares of the
    server's labels.
    """
    del metrics, mean_shares

  def create_memories(
    self,
    process: Process,
    folder: pathlib.Path,
    *,
    num_clients: int,
    num_kept: int,
  ) -> client_states.Memories | None:
    """Creates the store of clients' memories; None if clients keep no memory.

    A run can resume from any of the last `num_kept` rounds.
    """
    del num_clients  # Only clients that took part have a memory.
    if process.initialize_memory is None:
      return None
    return client_states.ClientMemories(
      folder / 'client_states', process.initialize_memory, num_kept=num_kept
    )

  @property
  def client_method(self) -> method.Method | None:
    """The client method, if clients train with one."""
    client = getattr(self, 'client', None)
    return client if isinstance(client, method.Method) else None

  @property
  def measures_pseudo_labels(self) -> bool:
    """Whether pseudo-labels are compared with true labels, where known."""
    client = self.client_method
    return client is not None and client.measures_pseudo_labels

  @property
  def total_rounds(self) -> int:
    """The number of the last round; numbers start at 0."""
    return settings.as_dict(self)['total_rounds']

  @property
  def rounds_may_be_added(self) -> bool:
    """Whether a run may be extended: no round depends on `total_rounds`."""
    rounds = [
      part.of_any_number
      for part in settings.parts_of(self)
      if isinstance(part, training_settings.Rounds)
    ]
    return bool(rounds) and all(rounds)

  @property
  def clients_per_round(self) -> int | None:
    """The cohort size; 0 in systems without cohorts, None if not filled in."""
    return settings.as_dict(self).get('clients_per_round', 0)

  @property
  def has_clients(self) -> bool:
    """Whether clients may take part in rounds."""
    return self.all_clients_take_part or 'clients_per_round' in (
      settings.as_dict(self)
    )

  @property
  def clients_have_labels(self) -> bool:
    """Whether all or some clients train on true labels."""
    return self.labels.at_some_clients or self.labels in (
      Labels.AT_CLIENTS,
      Labels.AT_SERVER_AND_CLIENTS,
    )

  @property
  def server_trains_alone(self) -> bool:
    """Whether a round without clients trains the model."""
    return self.server_has_labels

  @property
  def server_has_labels(self) -> bool:
    """Whether the server has labeled images to train on."""
    return self.labels not in (Labels.AT_CLIENTS, Labels.AT_SOME_CLIENTS)


def summarize(part: object) -> str:
  """The first line of the docstring of a part's class."""
  return (type(part).__doc__ or '').partition('\n')[0]
