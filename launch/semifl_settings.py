# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags of a SemiFL experiment with all their defaults filled in."""

import dataclasses

from launch import data_flags
from launch import federated_data
from launch import semifl_flags
from tasks import registry


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
  """The flags whose default depends on others, and those that a series varies.

  Attributes:
    seed: The run's seed.
    clients_per_round: Clients in a round.
    num_labeled: Labelled images at the server.
    server_batch_size: Images in a step of the server.
    model_depth: Depth of the WideResNet.
    model_width: Width of the WideResNet.
    experiment_name: Name of the folder.
    classes_per_client: Classes of a client, or None where it has no meaning.
    dirichlet_concentration: Likewise, of the Dirichlet distribution.
  """

  seed: int
  clients_per_round: int
  num_labeled: int
  server_batch_size: int
  model_depth: int
  model_width: int
  experiment_name: str
  classes_per_client: int | None
  dirichlet_concentration: float | None


def resolve(*, seed: int | None = None) -> Settings:
  """Returns the flags with all defaults filled in.

  Args:
    seed: Instead of the flag's.
  """
  task = registry.create_task(data_flags.TASK.value)
  seed = data_flags.SEED.value if seed is None else seed
  sharing = federated_data.resolve_partition()
  clients_per_round = semifl_flags.CLIENTS_PER_ROUND.value
  num_labeled = data_flags.NUM_LABELED.value or task.num_labeled
  return Settings(
    seed=seed,
    clients_per_round=clients_per_round,
    num_labeled=num_labeled,
    server_batch_size=semifl_flags.SERVER_BATCH_SIZE.value
    or (250 if num_labeled > 250 else 10),
    model_depth=semifl_flags.MODEL_DEPTH.value or task.model_depth,
    model_width=semifl_flags.MODEL_WIDTH.value or task.model_width,
    experiment_name=semifl_flags.EXPERIMENT_NAME.value
    or default_name(clients_per_round, num_labeled, sharing, seed),
    classes_per_client=sharing.classes_per_client,
    dirichlet_concentration=sharing.dirichlet_concentration,
  )


def default_name(
  clients_per_round: int,
  num_labeled: int,
  sharing: federated_data.PartitionSettings,
  seed: int,
) -> str:
  """Returns the name of an experiment that was not given one."""
  method = 'semifl' if clients_per_round else 'labels_alone'
  parameter = sharing.classes_per_client or sharing.dirichlet_concentration
  return '_'.join(
    [
      method,
      data_flags.TASK.value,
      str(num_labeled),
      f'{sharing.partition}{parameter or ""}',
      f'seed{seed}',
    ]
  )


def all_flags(settings: Settings) -> dict[str, object]:
  """Returns all flags by name, with all defaults filled in."""
  return semifl_flags.all_values() | dataclasses.asdict(settings)
