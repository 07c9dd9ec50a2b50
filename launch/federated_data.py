# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A task's images, shared out among server and clients as the flags say."""

from typing import NamedTuple

from absl import flags
import numpy as np

from launch import data_flags
from launch import program
from tasks import image_task
from tff_semifl.data import partition
from tff_semifl.data import skewed_partition
from tff_semifl.data import sources

# By partition, what its own flag is if it is not given.
_DEFAULTS = {'classes': 2, 'dirichlet': 0.3}


class PartitionSettings(NamedTuple):
  """The flags of a partition, with defaults filled in.

  Attributes:
    partition: Its name, or None where the data say who has what.
    classes_per_client: Classes of a client, or None where it has no meaning.
    dirichlet_concentration: The same of the Dirichlet distribution.
  """

  partition: str | None
  classes_per_client: int | None
  dirichlet_concentration: float | None


class FederatedData(NamedTuple):
  """Who has which images.

  Attributes:
    labelled: The server's.
    unlabelled: What is shared out among clients. Labels are the true ones, or
      `sources.UNKNOWN_LABEL`; no client gets to see them.
    shares: For each client the int64 indices of its images in `unlabelled`.
    test: To evaluate on.
  """

  labelled: sources.LabelledImages
  unlabelled: sources.LabelledImages
  shares: list[np.ndarray]
  test: sources.LabelledImages


def resolve_partition() -> PartitionSettings:
  """Returns the flags of the partition with defaults filled in.

  Raises:
    program.FlagError: If a flag is given that the partition has no use for.
  """
  if data_flags.TASK.value == data_flags.IMAGE_FOLDER:
    return PartitionSettings(None, None, None)
  concentration = _resolve(data_flags.DIRICHLET_CONCENTRATION, 'dirichlet')
  return PartitionSettings(
    partition=data_flags.PARTITION.value,
    classes_per_client=_resolve(data_flags.CLASSES_PER_CLIENT, 'classes'),
    dirichlet_concentration=concentration,
  )


def _resolve(flag: flags.FlagHolder, used_by: str) -> int | float | None:
  """Returns a flag's value or default, or None for any other partition."""
  return program.resolve(
    flag,
    _DEFAULTS[used_by],
    is_used=data_flags.PARTITION.value == used_by,
    no_use=f'--partition={data_flags.PARTITION.value} has no use for it, only'
    f' --partition={used_by} has',
  )


def create_federated_data(
  task: image_task.ImageTask,
  settings: PartitionSettings,
  *,
  num_labeled: int,
  seed: int,
) -> FederatedData:
  """Loads a task's images and shares them out.

  The clients' are those of the training images that the server has no label
  of, and the task's images of unknown classes after them. Some tasks say
  themselves who has what.

  Args:
    task: The task.
    settings: How to share out, if the task does not say.
    num_labeled: Labelled images at the server, likewise.
    seed: The run's seed.

  Raises:
    program.FlagError: If the data cannot be had, or cannot be shared out as
      the flags ask.
  """
  with program.blame(data_flags.DATA_DIR, sources.DataNotFoundError):
    data = task.load(data_flags.DATA_DIR.value)
  if data.shares is not None:
    order = partition.shuffle(len(data.train.labels), seed)
    return FederatedData(
      labelled=data.train.select(order),
      unlabelled=data.unlabelled,
      shares=data.shares,
      test=data.test,
    )
  with program.blame(data_flags.NUM_LABELED, ValueError, value=num_labeled):
    split = partition.split_labels(
      data.train.labels, num_labeled, task.num_classes, seed
    )
  unlabelled = data.train.select(split.unlabelled)
  if data.unlabelled is not None:
    unlabelled = sources.LabelledImages(
      np.concatenate([unlabelled.images, data.unlabelled.images]),
      np.concatenate([unlabelled.labels, data.unlabelled.labels]),
    )
  return FederatedData(
    labelled=data.train.select(split.labelled),
    unlabelled=unlabelled,
    shares=_share_out(unlabelled.labels, task.num_classes, settings, seed),
    test=data.test,
  )


def _share_out(
  labels: np.ndarray,
  num_classes: int,
  settings: PartitionSettings,
  seed: int,
) -> list[np.ndarray]:
  num_clients = data_flags.NUM_CLIENTS.value
  if settings.partition == 'iid':
    with program.blame(data_flags.NUM_CLIENTS, ValueError):
      return partition.partition_iid(len(labels), num_clients, seed)
  # What is wrong may be any of several numbers; the message says which.
  with program.blame(data_flags.PARTITION, ValueError):
    if settings.partition == 'classes':
      return skewed_partition.partition_classes(
        labels, num_classes, settings.classes_per_client, num_clients, seed
      )
    return skewed_partition.partition_dirichlet(
      labels, settings.dirichlet_concentration, num_clients, seed
    )
