# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags of an experiment with all their defaults filled in."""

import dataclasses
import pathlib

from launch import chosen_aggregator
from launch import chosen_task
from launch import data_flags
from launch import federated_data
from launch import flag_conflicts
from launch import image_folder_flags
from launch import model_flags
from launch import models
from launch import program
from launch import run_flags
from launch import system as system_lib
from launch import training_flags


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
  """The flags whose default depends on others, and those that a series varies.

  Attributes:
    seed: The run's seed.
    total_rounds: The last round.
    clients_per_round: Clients in a round.
    num_labeled: Labelled images at the server, or None if it has all or none.
    server_epochs: Epochs of the server in a round.
    server_batch_size: Images in a step of the server.
    model_depth: Depth of the model.
    model_width: Width of the WideResNet, or None for a ResNet.
    batch_norm_statistics: Which statistics, or None for a model without.
    experiment_name: Name of the folder.
    classes_per_client: Classes of a client, or None where it has no meaning.
    dirichlet_concentration: Likewise, of the Dirichlet distribution.
    skew: Likewise, of main classes.
    aggregation: The flags of the chosen aggregator.
  """

  seed: int
  total_rounds: int
  clients_per_round: int
  num_labeled: int | None
  server_epochs: float
  server_batch_size: int
  model_depth: int
  model_width: int | None
  batch_norm_statistics: str | None
  experiment_name: str
  classes_per_client: int | None
  dirichlet_concentration: float | None
  skew: float | None
  aggregation: chosen_aggregator.AggregatorSettings


def resolve(system: system_lib.System, *, seed: int | None = None) -> Settings:
  """Returns the flags with all defaults filled in.

  Args:
    system: What is to be trained.
    seed: Instead of the flag's.

  Raises:
    program.FlagError: If a flag is given that has no use, or a folder of images
      cannot be used.
  """
  flag_conflicts.check(system)
  task = chosen_task.create_task()
  seed = data_flags.SEED.value if seed is None else seed
  sharing = federated_data.NO_PARTITION
  if system.uses(data_flags.PARTITION):
    sharing = federated_data.resolve_partition()
  clients_per_round = 0
  if system.uses(training_flags.CLIENTS_PER_ROUND):
    clients_per_round = training_flags.CLIENTS_PER_ROUND.value
  num_labeled = None
  if system.uses(data_flags.NUM_LABELED):
    num_labeled = data_flags.NUM_LABELED.value or task.num_labeled
  # Where nobody chooses, a pass over all images would replace statistics that
  # the system itself keeps (D48).
  are_chosen = system.uses(training_flags.BATCH_NORM_STATISTICS)
  batch_norm_statistics = program.resolve(
    training_flags.BATCH_NORM_STATISTICS,
    'pooled' if system.clients_have_labels and are_chosen else 'server',
    is_used=model_flags.NORMALIZATION.value == 'static_batch'
    and models.has_normalization(),
    no_use='without static batch normalisation there are no statistics',
  )
  return Settings(
    seed=seed,
    total_rounds=system.total_rounds(),
    clients_per_round=clients_per_round,
    num_labeled=num_labeled,
    # In one place a round is an epoch (D33).
    server_epochs=training_flags.SERVER_EPOCHS.value
    if system.uses(training_flags.SERVER_EPOCHS)
    else 1,
    server_batch_size=training_flags.SERVER_BATCH_SIZE.value
    or (10 if num_labeled and num_labeled <= 250 else 250),
    model_depth=program.resolve(
      model_flags.MODEL_DEPTH,
      task.model_depth if models.is_wide() else 9,
      is_used=models.has_depth(),
      no_use=f'--model={model_flags.MODEL.value} has but one depth',
    ),
    model_width=program.resolve(
      model_flags.MODEL_WIDTH,
      task.model_width,
      is_used=models.is_wide(),
      no_use=f'--model={model_flags.MODEL.value} has no width',
    ),
    batch_norm_statistics=batch_norm_statistics,
    experiment_name=run_flags.EXPERIMENT_NAME.value
    or default_name(system, clients_per_round, num_labeled, sharing, seed),
    classes_per_client=sharing.classes_per_client,
    dirichlet_concentration=sharing.dirichlet_concentration,
    skew=sharing.skew,
    aggregation=chosen_aggregator.resolve(batch_norm_statistics),
  )


def default_name(
  system: system_lib.System,
  clients_per_round: int,
  num_labeled: int | None,
  sharing: federated_data.PartitionSettings,
  seed: int,
) -> str:
  """Returns the name of an experiment that was not given one."""
  who_has_what = None
  if data_flags.TASK.value == data_flags.IMAGE_FOLDER:
    who_has_what = (
      pathlib.Path(image_folder_flags.IMAGE_DIR.value).resolve().name
    )
  elif sharing.partition is not None:
    parameter = '' if sharing.parameter is None else sharing.parameter
    who_has_what = f'{sharing.partition}{parameter}'
  has_no_clients = (
    system.uses(training_flags.CLIENTS_PER_ROUND) and not clients_per_round
  )
  parts = [
    f'{system.name}_without_clients' if has_no_clients else system.name,
    data_flags.TASK.value,
    num_labeled,
    who_has_what,
    f'seed{seed}',
  ]
  return '_'.join(str(part) for part in parts if part is not None)


def all_flags(
  system: system_lib.System, settings: Settings
) -> dict[str, object]:
  """Returns all flags that a system uses by name, with all defaults filled in.

  `total_rounds` is there for all, whatever a system calls it.
  """
  values = system.flag_values()
  resolved = {
    field.name: getattr(settings, field.name)
    for field in dataclasses.fields(settings)
    if field.name != 'aggregation'
  }
  resolved |= settings.aggregation._asdict() | chosen_task.flag_values()
  return (
    values
    | {name: value for name, value in resolved.items() if name in values}
    | {'total_rounds': settings.total_rounds}
  )
