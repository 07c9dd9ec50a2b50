# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The settings of training that systems have in common.

Defaults are those of SemiFL's Tables 4 and 5, unless a meaning says otherwise.
Where None is the default, an experiment fills in a number that suits its data.
"""

from collections.abc import Callable, Sequence
import dataclasses
import functools
import math
import types
from typing import ClassVar

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.training import optimizers
from tff_semifl.training import schedules

# What an experiment fills in where its task does not say who has which images,
# by name of the setting.
SEMIFL = types.MappingProxyType({'clients_per_round': 10, 'total_rounds': 800})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cohorts(settings.Settings):
  """The cohort of a round."""

  clients_per_round: int | None = settings.setting(
    None,
    'Clients that take part in a round. 0 trains on the labels alone, with the'
    ' same server steps. Where the task says which client has which images, as'
    ' image_folder does, all up to 10 instead of 10.',
    settings.AT_LEAST_0,
  )
  client_dropout_probability: float = settings.setting(
    0.0,
    'How often a client that was chosen for a round is not heard of again in'
    ' it.',
    settings.BELOW_1,
  )

  @property
  def filled_size(self) -> int:
    """The clients of a round.

    Raises:
      settings.SettingError: If they are not filled in.
    """
    return settings.filled('clients_per_round', self.clients_per_round)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rounds(settings.Settings):
  """The length of training, and its learning rate.

  Attributes:
    of_any_number: Whether methods of this very class make of no round another
      one where there are more. A class that derives from it has to say so
      anew, because its schedule may be another.
  """

  of_any_number: ClassVar[bool] = True

  total_rounds: int | None = settings.setting(
    None,
    'Rounds, and length of the cosine that the learning rate follows where it'
    ' follows one. Where the task says which client has which images, 80 rounds'
    ' of epochs instead of 800: ten clients have as many turns then as each of'
    " SemiFL's 100.",
    settings.AT_LEAST_1,
  )
  learning_rate: float = settings.setting(
    0.03,
    'Learning rate of server and clients: the first, or the highest where the'
    ' schedule begins with a warm-up.',
    settings.ABOVE_0,
  )

  @property
  def are_of_any_number(self) -> bool:
    """True if no learning rate depends on how many rounds there are."""
    return vars(type(self)).get('of_any_number', False)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CosineSchedule(Rounds):
  """A learning rate that falls to 0 on half a cosine (A.4), or is constant."""

  constant_learning_rate: bool = settings.setting(
    False,
    'Whether the learning rate stays as it is instead of falling to 0 on half a'
    " cosine. It stays in the authors' code of (FL)^2, and falls in its text"
    ' (FL3).',
  )

  @property
  def are_of_any_number(self) -> bool:
    """True if the learning rate stays as it is."""
    kind = type(self)
    return self.constant_learning_rate and (
      kind.create_learning_rate_fn is CosineSchedule.create_learning_rate_fn
    )

  def create_learning_rate_fn(self) -> Callable[[tf.Tensor], tf.Tensor]:
    """Creates round -> learning rate.

    Raises:
      settings.SettingError: If the rounds are not filled in.
    """
    if self.constant_learning_rate:
      return lambda round_num: tf.constant(self.learning_rate)
    return functools.partial(
      schedules.cosine_decay,
      initial_value=self.learning_rate,
      total_rounds=settings.filled('total_rounds', self.total_rounds),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Nesterov(settings.Settings):
  """Gradient descent with Nesterov momentum and weight decay."""

  momentum: float = settings.setting(
    0.9, 'Nesterov momentum of server and clients.', settings.BELOW_1
  )
  weight_decay: float = settings.setting(
    5e-4,
    'Weight decay of all weights, server and clients.',
    settings.AT_LEAST_0,
  )

  def build(self) -> tff.learning.optimizers.Optimizer:
    """Builds the optimizer; a schedule sets its learning rate."""
    return optimizers.build_nesterov_sgd(
      momentum=self.momentum,
      weight_decay=self.weight_decay,
      clip_norm=None,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClippedNesterov(Nesterov):
  """The same with gradients of a bounded norm, as in SemiFL's code."""

  clip_norm: float = settings.setting(
    1.0,
    "Bound on the norm of a step's gradients (the authors' code); 0 for none.",
    settings.AT_LEAST_0,
  )

  def build(self) -> tff.learning.optimizers.Optimizer:
    """Builds the optimizer; a schedule sets its learning rate."""
    return optimizers.build_nesterov_sgd(
      momentum=self.momentum,
      weight_decay=self.weight_decay,
      clip_norm=self.clip_norm or None,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientBatches(settings.Settings):
  """The batches of a client."""

  client_batch_size: int = settings.setting(
    10, 'Images in a step of a client.', settings.AT_LEAST_1
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientEpochs(ClientBatches):
  """The turn of a client in a round."""

  client_epochs: float = settings.setting(
    5.0,
    'Epochs of a client in a round. A number below 1 is that share of the'
    ' batches of one epoch; others are rounded up to whole epochs (A.10).',
    settings.ABOVE_0,
  )

  def count_steps(self, client_sizes: Sequence[int]) -> int:
    """Returns the steps of the client that has most images, 0 without any."""
    return count_epoch_steps(
      max(client_sizes, default=0), self.client_batch_size, self.client_epochs
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerBatches(settings.Settings):
  """The batches of the server."""

  server_batch_size: int | None = settings.setting(
    None,
    'Images in a step of the server. By default 250, or 10 for up to 250'
    " labeled images (the authors' rule at the time of the paper, D4).",
    settings.AT_LEAST_1,
  )

  @property
  def filled_batch_size(self) -> int:
    """The images in a step.

    Raises:
      settings.SettingError: If they are not filled in.
    """
    return settings.filled('server_batch_size', self.server_batch_size)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerEpochs(ServerBatches):
  """The turn of the server in a round."""

  server_epochs: float = settings.setting(
    5.0,
    'Epochs of the server in a round. A number below 1 is that share of the'
    ' batches of one epoch; others are rounded up to whole epochs (A.10).',
    settings.AT_LEAST_0,
  )

  def count_steps(self, num_labeled: int) -> int:
    """Returns the steps of a server that has so many images."""
    return count_epoch_steps(
      num_labeled, self.filled_batch_size, self.server_epochs
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainedBatches(ServerBatches):
  """The batches of a server that trains alone in round 0."""

  server_pretraining_epochs: float | None = settings.setting(
    None,
    'Epochs of the server in round 0, before clients train. By default as many'
    " as in other rounds; the authors' code of (FL)^2 has 50 and more (FL4).",
    settings.AT_LEAST_0,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerTurn(ServerEpochs, PretrainedBatches):
  """The turn of the server, with momentum."""

  keep_server_momentum: bool = settings.setting(
    True,
    "Whether the server's momentum goes on from round to round, as in the last"
    " code of the authors; in that of the paper's time it starts at zero (D5).",
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientMomentum(settings.Settings):
  """The momentum of clients and of their mean."""

  global_momentum: float = settings.setting(
    0.5,
    "Momentum of the clients' mean from round to round; 0 is the plain mean of"
    ' Algorithm 1 (D15).',
    settings.BELOW_1,
  )
  keep_client_momentum: bool = settings.setting(
    False,
    "Whether a client's momentum goes on from its last round, as in the"
    " authors' code (D5). It is kept in the experiment's folder: as much as a"
    ' model for each client.',
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Confidence(settings.Settings):
  """The confidence that pseudo-labels are trained on with."""

  confidence_threshold: float = settings.setting(
    0.95,
    'Probability from which on a pseudo-label is trained on.',
    settings.SHARE,
  )


def count_epoch_steps(
  num_images: int, batch_size: int, num_epochs: float
) -> int:
  """Returns the steps of some epochs, as `training_loop.train` takes them."""
  num_batches = math.ceil(num_images / batch_size)
  if num_epochs < 1:
    return math.ceil(num_epochs * num_batches)
  return math.ceil(num_epochs) * num_batches
