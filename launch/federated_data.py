# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A task's images, shared out among server and clients as the flags say."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from absl import flags
import numpy as np

from launch import data_flags
from launch import program
from tasks import image_task
from tff_semifl.data import main_class_partition
from tff_semifl.data import partition
from tff_semifl.data import skewed_partition
from tff_semifl.data import sources

# By partition, what its own flag is if it is not given.
_DEFAULTS = {'classes': 2, 'dirichlet': 0.3, 'main_classes': 0.4}


class PartitionSettings(NamedTuple):
  """The flags of a partition, with defaults filled in.

  Attributes:
    partition: Its name, or None where the data say who has what.
    classes_per_client: Classes of a client, or None where it has no meaning.
    dirichlet_concentration: The same of the Dirichlet distribution.
    skew: The same of main classes.
  """

  partition: str | None
  classes_per_client: int | None
  dirichlet_concentration: float | None
  skew: float | None

  @property
  def parameter(self) -> int | float | None:
    """The number that the partition has, if it has one."""
    _, *parameters = self
    return next((p for p in parameters if p is not None), None)


NO_PARTITION = PartitionSettings(None, None, None, None)


class FederatedData(NamedTuple):
  """Who has which images.

  Attributes:
    labelled: The server's.
    unlabelled: What is shared out among clients. Labels are the true ones, or
      `sources.UNKNOWN_LABEL`; no client gets to see them.
    shares: For each client the int64 indices of its images in `unlabelled`.
    test: To evaluate on.
    training_order: int64 indices into the labelled images and after them the
      unlabelled ones, which put all of them into the order of the data set.
      None if they are in it.
  """

  labelled: sources.LabelledImages
  unlabelled: sources.LabelledImages
  shares: Sequence[np.ndarray]
  test: sources.LabelledImages
  training_order: np.ndarray | None = None


# (task, partition, num_labeled, seed) -> data.
CreateDataFn = Callable[..., FederatedData]


def resolve_partition() -> PartitionSettings:
  """Returns the flags of the partition with defaults filled in.

  Raises:
    program.FlagError: If a flag is given that the partition has no use for.
  """
  if data_flags.TASK.value == data_flags.IMAGE_FOLDER:
    return NO_PARTITION
  concentration = _resolve(data_flags.DIRICHLET_CONCENTRATION, 'dirichlet')
  return PartitionSettings(
    partition=data_flags.PARTITION.value,
    classes_per_client=_resolve(data_flags.CLASSES_PER_CLIENT, 'classes'),
    dirichlet_concentration=concentration,
    skew=_resolve(data_flags.SKEW, 'main_classes'),
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
  data = _load(task)
  if data.shares is not None:
    order = partition.shuffle(len(data.train.labels), seed)
    return FederatedData(
      labelled=data.train.select(order),
      unlabelled=data.unlabelled,
      shares=data.shares,
      test=data.test,
      training_order=_invert(order, len(data.unlabelled.labels)),
    )
  split = _split_labels(task, data, num_labeled, seed)
  unlabelled = data.train.select(split.unlabelled)
  order = np.concatenate([split.labelled, split.unlabelled])
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
    training_order=_invert(
      order, len(unlabelled.labels) - len(split.unlabelled)
    ),
  )


def create_server_data(
  task: image_task.ImageTask,
  settings: PartitionSettings,
  *,
  num_labeled: int,
  seed: int,
) -> FederatedData:
  """Loads the labelled images of `create_federated_data`, and no client's.

  Args:
    task: The task.
    settings: Of no use.
    num_labeled: Labelled images, unless the task says which.
    seed: The run's seed.

  Raises:
    program.FlagError: As there.
  """
  del settings  # Nothing is shared out.
  data = _load(task)
  labelled = data.train
  if data.shares is None:
    labelled = data.train.select(
      _split_labels(task, data, num_labeled, seed).labelled
    )
  return FederatedData(labelled, data.train.select([]), [], data.test)


def create_all_server_data(
  task: image_task.ImageTask,
  settings: PartitionSettings,
  *,
  num_labeled: int,
  seed: int,
) -> FederatedData:
  """Loads all training images, with their labels, in one place.

  Args:
    task: The task.
    settings: Of no use.
    num_labeled: Of no use.
    seed: Of no use.

  Raises:
    program.FlagError: If the data cannot be had.
  """
  del settings, num_labeled, seed  # It is all of them.
  data = _load(task)
  return FederatedData(data.train, data.train.select([]), [], data.test)


def create_labelled_client_data(
  task: image_task.ImageTask,
  settings: PartitionSettings,
  *,
  num_labeled: int,
  seed: int,
) -> FederatedData:
  """Loads all training images for clients that have their labels (D.7).

  Args:
    task: The task.
    settings: How to share out.
    num_labeled: Of no use: the server has none.
    seed: The run's seed.

  Raises:
    program.FlagError: If the data cannot be had or shared out, or if the
      task's clients have no labels.
  """
  del num_labeled  # The server has no image.
  data = _load(task)
  with program.blame(data_flags.TASK, ValueError):
    if data.shares is not None:
      raise ValueError('its clients have no labels to train on')
  return FederatedData(
    labelled=data.train.select([]),
    unlabelled=data.train,
    shares=_share_out(data.train.labels, task.num_classes, settings, seed),
    test=data.test,
  )


def _invert(order: np.ndarray, num_others: int) -> np.ndarray:
  """Returns what undoes an order of images, others after them unchanged."""
  others = np.arange(len(order), len(order) + num_others)
  return np.concatenate([np.argsort(order), others])


def _load(task: image_task.ImageTask) -> image_task.TaskData:
  with program.blame(data_flags.DATA_DIR, sources.DataNotFoundError):
    return task.load(data_flags.DATA_DIR.value)


def _split_labels(
  task: image_task.ImageTask,
  data: image_task.TaskData,
  num_labeled: int,
  seed: int,
) -> partition.LabelSplit:
  with program.blame(data_flags.NUM_LABELED, ValueError, value=num_labeled):
    return partition.split_labels(
      data.train.labels, num_labeled, task.num_classes, seed
    )


def _share_out(
  labels: np.ndarray,
  num_classes: int,
  settings: PartitionSettings,
  seed: int,
) -> Sequence[np.ndarray]:
  """Returns for each client the indices of its images.

  Raises:
    program.FlagError: If the flags cannot be followed, or an image was lost.
  """
  num_images, num_clients = len(labels), data_flags.NUM_CLIENTS.value
  if settings.partition == 'iid':
    with program.blame(data_flags.NUM_CLIENTS, ValueError):
      shares = partition.partition_iid(num_images, num_clients, seed)
      partition.check_all_are_shared(
        shares, num_images, num_left=num_images % num_clients
      )
    return shares
  # What is wrong may be any of several numbers; the message says which.
  with program.blame(data_flags.PARTITION, ValueError):
    if settings.partition == 'classes':
      shares = skewed_partition.partition_classes(
        labels, num_classes, settings.classes_per_client, num_clients, seed
      )
    elif settings.partition == 'main_classes':
      shares = main_class_partition.partition_main_classes(
        labels, num_classes, settings.skew, num_clients, seed
      )
    else:
      shares = skewed_partition.partition_dirichlet(
        labels, settings.dirichlet_concentration, num_clients, seed
      )
    partition.check_all_are_shared(shares, num_images)
  return shares
