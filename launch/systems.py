# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The systems that can be trained: what differs between their programs."""

from collections.abc import Callable
import types
from typing import NamedTuple

from absl import flags
import tensorflow_federated as tff

from launch import augmentation_flags
from launch import data_flags
from launch import image_folder_flags
from launch import model_flags
from launch import run_flags
from launch import semifl_flags
from launch import training_flags
from launch import worker_flags
from tasks import image_task
from tff_semifl.algorithms import batch_label_semifl
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.algorithms import semifl
from tff_semifl.models import functional

# The flags that `adopt_flags` adopts are then its caller's, and not of here.
flags.disclaim_key_flags()


class System(NamedTuple):
  """A way to train with unlabelled clients.

  Attributes:
    name: The first part of the default name of an experiment.
    flag_modules: The modules that define its flags.
    build_process: (classifier, numbers, task) -> process.
    measures_pseudo_labels: Whether the pseudo-labels it trains on are those of
      the model that clients receive, which can be compared with the truth.
  """

  name: str
  flag_modules: tuple[types.ModuleType, ...]
  build_process: Callable[
    [
      functional.ImageClassifier,
      hyperparameters_lib.Hyperparameters,
      image_task.ImageTask,
    ],
    tff.templates.IterativeProcess,
  ]
  measures_pseudo_labels: Callable[[], bool]

  def adopt_flags(self) -> None:
    """Makes the flags those of the calling program, for its --help."""
    for module in self.flag_modules:
      flags.adopt_module_key_flags(module)

  def flag_values(self) -> dict[str, object]:
    """Returns the value of each flag by name."""
    by_module = flags.FLAGS.flags_by_module_dict()
    return {
      flag.name: flag.value
      for module in self.flag_modules
      for flag in by_module[module.__name__]
    }


_COMMON_FLAGS = (
  data_flags,
  image_folder_flags,
  augmentation_flags,
  model_flags,
  training_flags,
  run_flags,
  worker_flags,
)


def _build_semifl(
  classifier: functional.ImageClassifier,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  task: image_task.ImageTask,
) -> tff.templates.IterativeProcess:
  return semifl.build_semifl(
    classifier,
    hyperparameters,
    weak_augmentation=task.weak_augmentation,
    strong_augmentation=task.strong_augmentation,
    mixup_concentration=semifl_flags.MIXUP_CONCENTRATION.value,
    mix_loss_weight=semifl_flags.MIX_LOSS_WEIGHT.value,
    soft_labels=semifl_flags.SOFT_PSEUDO_LABELS.value,
    mix_once_per_round=semifl_flags.MIX_ONCE_PER_ROUND.value,
    mix_before_augmentation=semifl_flags.MIX_BEFORE_AUGMENTATION.value,
  )


def _build_batch_label_semifl(
  classifier: functional.ImageClassifier,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  task: image_task.ImageTask,
) -> tff.templates.IterativeProcess:
  return batch_label_semifl.build_batch_label_semifl(
    classifier,
    hyperparameters,
    weak_augmentation=task.weak_augmentation,
    strong_augmentation=task.strong_augmentation,
  )


SEMIFL = System(
  'semifl',
  (*_COMMON_FLAGS, semifl_flags),
  _build_semifl,
  lambda: semifl_flags.MEASURE_PSEUDO_LABELS.value,
)
BATCH_LABEL_SEMIFL = System(
  'batch_label_semifl',
  _COMMON_FLAGS,
  _build_batch_label_semifl,
  lambda: False,
)
