# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags of an experiment with all their defaults filled in."""

import dataclasses
import pathlib

from launch import chosen_task
from launch import data_flags
from launch import federated_data
from launch import image_folder_flags
from launch import model_flags
from launch import program
from launch import run_flags
from launch import systems
from launch import training_flags


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
  """The flags whose default depends on others, and those that a series varies.

  Attributes:
    seed: The run's seed.
    clients_per_round: Clients in a round.
    num_labeled: Labelled images at the server.
    server_batch_size: Images in a step of the server.
    model_depth: Depth of the model.
    model_width: Width of the WideResNet, or None for a ResNet.
    batch_norm_statistics: Which statistics, or None for a model without.
    experiment_name: Name of the folder.
    classes_per_client: Classes of a client, or None where it has no meaning.
    dirichlet_concentration: Likewise, of the Dirichlet distribution.
  """

  seed: int
  clients_per_round: int
  num_labeled: int
  server_batch_size: int
  model_depth: int
  model_width: int | None
  batch_norm_statistics: str | None
  experiment_name: str
  classes_per_client: int | None
  dirichlet_concentration: float | None


def resolve(system: systems.System, *, seed: int | None = None) -> Settings:
  """Returns the flags with all defaults filled in.

  Args:
    system: What is to be trained.
    seed: Instead of the flag's.

  Raises:
    program.FlagError: If a flag is given that has no use, or a folder of images
      cannot be used.
  """
  task = chosen_task.create_task()
  seed = data_flags.SEED.value if seed is None else seed
  sharing = federated_data.resolve_partition()
  clients_per_round = training_flags.CLIENTS_PER_ROUND.value
  num_labeled = data_flags.NUM_LABELED.value or task.num_labeled
  with program.blame(model_flags.JIT_COMPILE, ValueError):
    if model_flags.JIT_COMPILE.value and run_flags.RUNTIME.value == 'native':
      raise ValueError(
        "TFF's worker has no XLA; use --runtime=in_process or leave it out"
      )
  is_wide = model_flags.MODEL.value == 'wide_resnet'
  return Settings(
    seed=seed,
    clients_per_round=clients_per_round,
    num_labeled=num_labeled,
    server_batch_size=training_flags.SERVER_BATCH_SIZE.value
    or (250 if num_labeled > 250 else 10),
    model_depth=model_flags.MODEL_DEPTH.value
    or (task.model_depth if is_wide else 9),
    model_width=program.resolve(
      model_flags.MODEL_WIDTH,
      task.model_width,
      is_used=is_wide,
      no_use='a ResNet has no width',
    ),
    batch_norm_statistics=program.resolve(
      training_flags.BATCH_NORM_STATISTICS,
      'server',
      is_used=model_flags.NORMALIZATION.value == 'static_batch',
      no_use='--normalization=group has no statistics',
    ),
    experiment_name=run_flags.EXPERIMENT_NAME.value
    or default_name(system, clients_per_round, num_labeled, sharing, seed),
    classes_per_client=sharing.classes_per_client,
    dirichlet_concentration=sharing.dirichlet_concentration,
  )


def default_name(
  system: systems.System,
  clients_per_round: int,
  num_labeled: int,
  sharing: federated_data.PartitionSettings,
  seed: int,
) -> str:
  """Returns the name of an experiment that was not given one."""
  parameter = sharing.classes_per_client or sharing.dirichlet_concentration
  if sharing.partition is None:
    who_has_what = (
      pathlib.Path(image_folder_flags.IMAGE_DIR.value).resolve().name
    )
  else:
    who_has_what = f'{sharing.partition}{parameter or ""}'
  return '_'.join(
    [
      system.name if clients_per_round else 'labels_alone',
      data_flags.TASK.value,
      str(num_labeled),
      who_has_what,
      f'seed{seed}',
    ]
  )


def all_flags(system: systems.System, settings: Settings) -> dict[str, object]:
  """Returns all flags by name, with all defaults filled in."""
  return (
    system.flag_values()
    | dataclasses.asdict(settings)
    | chosen_task.flag_values()
  )
