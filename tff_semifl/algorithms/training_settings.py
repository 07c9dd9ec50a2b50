# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The training settings that systems share.

Defaults are from SemiFL's Tables 4 and 5, unless a help text says otherwise. An
experiment replaces None by a number that suits the data.
"""

from collections.abc import Callable, Sequence
import dataclasses
import functools
import math
import types

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.core import optimizers
from tff_semifl.core import training_loop

# Values that replace None unless the task defines the partition.
SEMIFL = types.MappingProxyType({'clients_per_round': 10, 'total_rounds': 800})

OPTIMIZERS = settings.one_of('sgd', 'adam', 'adamw')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cohorts(settings.Settings):
  """The size of the cohort of a round, and the dropout of its clients."""

  clients_per_round: int | None = settings.setting(
    None,
    'Clients that take part in a round. With 0, the server trains alone with'
    ' the same steps. By default 10; if the task defines the partition, as'
    ' image_folder does, and has fewer clients, all.',
    settings.AT_LEAST_0,
  )
  client_dropout_probability: float = settings.setting(
    0.0,
    'Probability that a client of a cohort drops out before it reports.',
    settings.BELOW_1,
  )

  @property
  def filled_size(self) -> int:
    """The cohort size. Raises a SettingError if the setting is None."""
    return settings.filled('clients_per_round', self.clients_per_round)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rounds(settings.Settings):
  """The number of rounds and the learning rate."""

  total_rounds: int | None = settings.setting(
    None,
    'Rounds, and length of the cosine schedule of the learning rate, if it has'
    ' one. By default 800, or 80 if the task defines the partition and clients'
    ' train in epochs: ten clients then take part as often as each of'
    " SemiFL's 100 clients.",
    settings.AT_LEAST_1,
  )
  learning_rate: float = settings.setting(
    0.03,
    'Initial learning rate of server and clients; the highest if the schedule'
    ' begins with a warm-up.',
    settings.ABOVE_0,
  )

  @property
  def of_any_number(self) -> bool:
    """Whether `total_rounds` affects nothing but the length of training."""
    return type(self) is Rounds


@dataclasses.dataclass(frozen=True, kw_only=True)
class CosineSchedule(Rounds):
  """A learning rate that falls to 0 on half a cosine, or is constant."""

  constant_learning_rate: bool = settings.setting(
    False,
    'Whether the learning rate is constant instead of falling to 0 on half a'
    " cosine. It is constant in the code of (FL)^2's authors, and falls in the"
    ' paper.',
  )

  @property
  def of_any_number(self) -> bool:
    return self.constant_learning_rate and type(self) is CosineSchedule

  def create_learning_rate_fn(self) -> Callable[[tf.Tensor], tf.Tensor]:
    """Creates the function round -> learning rate."""
    if self.constant_learning_rate:
      return lambda round_num: tf.constant(self.learning_rate)
    return functools.partial(
      training_loop.cosine_decay,
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

  def build(self) -> optimizers.Optimizer:
    return optimizers.build_nesterov_sgd(
      momentum=self.momentum, weight_decay=self.weight_decay, clip_norm=None
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClippedNesterov(Nesterov):
  """Gradient descent with clipping, Nesterov momentum and weight decay."""

  clip_norm: float = settings.setting(
    1.0,
    "Largest norm of a step's gradients, as in the code of SemiFL's authors; 0"
    ' for no limit.',
    settings.AT_LEAST_0,
  )

  def build(self) -> optimizers.Optimizer:
    return optimizers.build_nesterov_sgd(
      momentum=self.momentum,
      weight_decay=self.weight_decay,
      clip_norm=self.clip_norm or None,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientOptimizer(ClippedNesterov):
  """The clients' optimizer, which the server also uses by default."""

  client_optimizer: str = settings.setting(
    'sgd',
    'Optimizer of clients, with clipping and weight decay: sgd, with Nesterov'
    ' momentum; adam, which needs --weight_decay=0; adamw. --momentum is beta_1'
    ' of adam and adamw; both need a smaller --learning_rate, such as 0.001.',
    OPTIMIZERS,
  )

  def build(self, name: str | None = None) -> optimizers.Optimizer:
    """Builds the optimizer called `name`, by default the clients'."""
    name = name or self.client_optimizer
    if name == 'sgd':
      return super().build()
    if name == 'adam' and self.weight_decay:
      raise self.error(
        'weight_decay', 'adam has no weight decay; set it to 0, or choose adamw'
      )
    return optimizers.build_adamw(
      beta_1=self.momentum,
      weight_decay=self.weight_decay,
      clip_norm=self.clip_norm or None,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientBatches(settings.Settings):
  """The batch size of clients."""

  client_batch_size: int = settings.setting(
    10, 'Images in a step of a client.', settings.AT_LEAST_1
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientEpochs(ClientBatches):
  """The length of local training in a round."""

  client_epochs: float = settings.setting(
    5.0,
    'Epochs of a client in a round. A number below 1 is a fraction of the'
    ' batches of one epoch; others are rounded up to whole epochs.',
    settings.ABOVE_0,
  )

  def count_steps(self, client_sizes: Sequence[int]) -> int:
    """The largest client's number of steps in a round; 0 without clients."""
    return count_epoch_steps(
      max(client_sizes, default=0), self.client_batch_size, self.client_epochs
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerBatches(settings.Settings):
  """The batch size of the server."""

  server_batch_size: int | None = settings.setting(
    None,
    'Images in a step of the server. By default 250, or 10 for up to 250'
    " labeled images, as in SemiFL's code when the paper was published.",
    settings.AT_LEAST_1,
  )

  @property
  def filled_batch_size(self) -> int:
    """The batch size. Raises a SettingError if the setting is None."""
    return settings.filled('server_batch_size', self.server_batch_size)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerEpochs(ServerBatches):
  """The length of the server's training in a round."""

  server_epochs: float = settings.setting(
    5.0,
    'Epochs of the server in a round. A number below 1 is a fraction of the'
    ' batches of one epoch; others are rounded up to whole epochs.',
    settings.AT_LEAST_0,
  )

  def count_steps(self, num_labeled: int) -> int:
    """The number of steps in a round, for `num_labeled` images."""
    return count_epoch_steps(
      num_labeled, self.filled_batch_size, self.server_epochs
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainedBatches(ServerBatches):
  """The batch size and pretraining of a server that trains alone in round 0."""

  server_pretraining_epochs: float | None = settings.setting(
    None,
    'Epochs of the server in round 0, before clients train. By default as in'
    " other rounds; the code of (FL)^2's authors has 50 and more.",
    settings.AT_LEAST_0,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassBalance(settings.Settings):
  """Options for imbalanced labels of the server."""

  server_logit_adjustment: float = settings.setting(
    0.0,
    "Factor on the logarithms of the class shares of the server's labels that"
    ' are added to logits in its loss, so that classes with few labels are'
    ' predicted as often as others (Menon et al., ICLR 2021, whose factor is'
    ' 1); 0 adds nothing. A class without labels counts as having one.',
    settings.AT_LEAST_0,
  )
  server_balanced_sampling: bool = settings.setting(
    False,
    "Whether the server's images are drawn with replacement, each class with"
    ' the same probability, instead of each image once an epoch.',
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerTraining(ServerEpochs, PretrainedBatches):
  """The server's training in a round, with momentum and pretraining."""

  class_balance: ClassBalance = ClassBalance()

  server_optimizer: str | None = settings.setting(
    None, 'Optimizer of the server; by default --client_optimizer.', OPTIMIZERS
  )
  server_learning_rate: float | None = settings.setting(
    None,
    'Learning rate of the server in place of --learning_rate, with the same'
    ' schedule.',
    settings.ABOVE_0,
  )
  keep_server_momentum: bool = settings.setting(
    True,
    "Whether the server's momentum is kept from round to round, as in the last"
    " code of SemiFL's authors; in their code for the paper it starts at zero.",
  )


NO_SERVER_STEP = ServerTraining(server_epochs=0.0, server_batch_size=1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientMomentum(settings.Settings):
  """The momentum of local training and of the global model."""

  global_momentum: float = settings.setting(
    0.5,
    "Momentum of the clients' mean from round to round; 0 is the plain mean of"
    ' Algorithm 1 of SemiFL.',
    settings.BELOW_1,
  )
  keep_client_momentum: bool = settings.setting(
    False,
    "Whether a client's momentum is kept from its last round, as in the code"
    " of SemiFL's authors. Each client then has a file of the size of a model.",
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Confidence(settings.Settings):
  """The confidence threshold of pseudo-labels."""

  confidence_threshold: float = settings.setting(
    0.95, 'Least probability of a pseudo-label for training.', settings.SHARE
  )


def count_epoch_steps(
  num_images: int, batch_size: int, num_epochs: float
) -> int:
  """The number of steps in `num_epochs` epochs."""
  num_batches = math.ceil(num_images / batch_size)
  if num_epochs < 1:
    return math.ceil(num_epochs * num_batches)
  return math.ceil(num_epochs) * num_batches
