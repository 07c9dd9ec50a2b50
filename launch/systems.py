# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The systems that can be trained: what differs between their programs."""

from absl import flags
import tensorflow_federated as tff

from launch import aggregator_flags
from launch import augmentation_flags
from launch import benchmark_systems
from launch import centralized_flags
from launch import data_flags
from launch import federated_data
from launch import fedmatch_systems
from launch import fedsgd_systems
from launch import image_folder_flags
from launch import model_flags
from launch import parallel_flags
from launch import run_flags
from launch import semifl_flags
from launch import supervised_flags
from launch import system
from launch import training_flags
from launch import worker_flags
from tasks import image_task
from tff_semifl.algorithms import batch_label_semifl
from tff_semifl.algorithms import centralized
from tff_semifl.algorithms import fedavg_fixmatch
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.algorithms import parallel
from tff_semifl.algorithms import parallel_semifl
from tff_semifl.algorithms import semifl
from tff_semifl.algorithms import supervised_fedavg
from tff_semifl.models import functional

flags.disclaim_key_flags()

_COMMON_FLAGS = (
  data_flags,
  image_folder_flags,
  augmentation_flags,
  model_flags,
  training_flags,
  aggregator_flags,
  run_flags,
  worker_flags,
)
_MIXING_FLAGS = (
  semifl_flags.MIXUP_CONCENTRATION,
  semifl_flags.MIX_LOSS_WEIGHT,
  semifl_flags.SOFT_PSEUDO_LABELS,
  semifl_flags.MIX_ONCE_PER_ROUND,
  semifl_flags.MIX_BEFORE_AUGMENTATION,
)
_CLIENT_FLAGS = (
  training_flags.CLIENTS_PER_ROUND,
  training_flags.CLIENT_EPOCHS,
  training_flags.CLIENT_BATCH_SIZE,
  training_flags.GLOBAL_MOMENTUM,
  training_flags.KEEP_CLIENT_MOMENTUM,
)
_FLAGS_OF_PSEUDO_LABELS = (
  augmentation_flags.STRONG_AUGMENTATION,
  training_flags.CONFIDENCE_THRESHOLD,
)


def _semifl_keywords() -> dict[str, object]:
  return {
    'mixup_concentration': semifl_flags.MIXUP_CONCENTRATION.value,
    'mix_loss_weight': semifl_flags.MIX_LOSS_WEIGHT.value,
    'soft_labels': semifl_flags.SOFT_PSEUDO_LABELS.value,
    'mix_once_per_round': semifl_flags.MIX_ONCE_PER_ROUND.value,
    'mix_before_augmentation': semifl_flags.MIX_BEFORE_AUGMENTATION.value,
  }


def _parallel_keywords() -> dict[str, object]:
  is_plain = parallel_flags.PLAIN_AVERAGE.value
  return {
    'server_share_fn': parallel.one_of_all if is_plain else parallel.half,
    'step_from_received_weights': is_plain,
  }


def _build_supervised_fedavg(
  classifier: functional.ImageClassifier,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  task: image_task.ImageTask,
  aggregator: tff.aggregators.AggregationFactory,
) -> tff.templates.IterativeProcess:
  return supervised_fedavg.build_supervised_fedavg(
    classifier,
    hyperparameters,
    weak_augmentation=task.weak_augmentation,
    mask_absent_classes=supervised_flags.MASK_ABSENT_CLASSES.value,
    aggregator=aggregator,
  )


def _build_centralized(
  classifier: functional.ImageClassifier,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  task: image_task.ImageTask,
  aggregator: tff.aggregators.AggregationFactory,
) -> tff.templates.IterativeProcess:
  del aggregator  # Nobody reports anything.
  return centralized.build_centralized_training(
    classifier, hyperparameters, weak_augmentation=task.weak_augmentation
  )


def _create_centralized(
  name: str, create_data: federated_data.CreateDataFn, *unused: flags.FlagHolder
) -> system.System:
  """Returns training in one place, a round an epoch (D.1, D33)."""
  return system.System(
    name=name,
    flag_modules=(
      data_flags,
      image_folder_flags,
      model_flags,
      training_flags,
      centralized_flags,
      run_flags,
      worker_flags,
    ),
    unused_flags=(
      data_flags.PARTITION,
      data_flags.CLASSES_PER_CLIENT,
      data_flags.DIRICHLET_CONCENTRATION,
      data_flags.SKEW,
      data_flags.NUM_CLIENTS,
      worker_flags.MAX_CONCURRENT_CLIENTS,
      training_flags.TOTAL_ROUNDS,
      training_flags.SERVER_EPOCHS,
      training_flags.KEEP_SERVER_MOMENTUM,
      training_flags.CONFIDENCE_THRESHOLD,
      training_flags.REPRODUCE_FINAL_TEST,
      *_CLIENT_FLAGS,
      *unused,
    ),
    defaults={training_flags.LEARNING_RATE.name: 0.1},
    build_process=_build_centralized,
    create_data=create_data,
    total_rounds=lambda: centralized_flags.TOTAL_EPOCHS.value - 1,
  )


SEMIFL = system.System(
  name='semifl',
  flag_modules=(*_COMMON_FLAGS, semifl_flags),
  build_process=system.build_from_task(semifl.build_semifl, _semifl_keywords),
  labels_by_global_model=True,
  measures_pseudo_labels=lambda: semifl_flags.MEASURE_PSEUDO_LABELS.value,
)
BATCH_LABEL_SEMIFL = system.System(
  name='batch_label_semifl',
  flag_modules=_COMMON_FLAGS,
  build_process=system.build_from_task(
    batch_label_semifl.build_batch_label_semifl
  ),
  measures_pseudo_labels=lambda: True,
)
PARALLEL_SEMIFL = system.System(
  name='parallel_semifl',
  flag_modules=(*_COMMON_FLAGS, semifl_flags, parallel_flags),
  unused_flags=_MIXING_FLAGS,
  build_process=system.build_from_task(
    parallel_semifl.build_parallel_semifl, _parallel_keywords
  ),
  labels_by_global_model=True,
  measures_pseudo_labels=lambda: semifl_flags.MEASURE_PSEUDO_LABELS.value,
)
FEDAVG_FIXMATCH = system.System(
  name='fedavg_fixmatch',
  flag_modules=(*_COMMON_FLAGS, parallel_flags),
  build_process=system.build_from_task(
    fedavg_fixmatch.build_fedavg_fixmatch, _parallel_keywords
  ),
  measures_pseudo_labels=lambda: True,
)
FEDRGD_AS_IN_SEMIFL = system.System(
  name='fedrgd_as_in_semifl',
  flag_modules=_COMMON_FLAGS,
  build_process=system.build_from_task(
    fedavg_fixmatch.build_fedavg_fixmatch,
    lambda: {'server_share_fn': parallel.of_two_groups},
  ),
  measures_pseudo_labels=lambda: True,
)
SUPERVISED_FEDAVG = system.System(
  name='supervised_fedavg',
  flag_modules=(*_COMMON_FLAGS, supervised_flags),
  unused_flags=(
    *_FLAGS_OF_PSEUDO_LABELS,
    data_flags.NUM_LABELED,
    training_flags.SERVER_EPOCHS,
    training_flags.SERVER_BATCH_SIZE,
    training_flags.KEEP_SERVER_MOMENTUM,
  ),
  build_process=_build_supervised_fedavg,
  create_data=federated_data.create_labelled_client_data,
  clients_have_labels=True,
)
LABELS_ALONE = _create_centralized(
  'labels_alone', federated_data.create_server_data
)
ALL_LABELS = _create_centralized(
  'all_labels', federated_data.create_all_server_data, data_flags.NUM_LABELED
)
FEDSGD_FIXMATCH = fedsgd_systems.FEDSGD_FIXMATCH
FEDSGD_FIXMATCH_AS_IN_SEMIFL = fedsgd_systems.FEDSGD_FIXMATCH_AS_IN_SEMIFL
FEDMATCH = fedmatch_systems.FEDMATCH
FEDMATCH_AS_IN_SEMIFL = fedmatch_systems.FEDMATCH_AS_IN_SEMIFL
CONSISTENCY_AVERAGING = benchmark_systems.CONSISTENCY_AVERAGING
SELF_TRAINING_AVERAGING = benchmark_systems.SELF_TRAINING_AVERAGING
SUPERVISED_AVERAGING = benchmark_systems.SUPERVISED_AVERAGING

ALL = (
  ALL_LABELS,
  BATCH_LABEL_SEMIFL,
  CONSISTENCY_AVERAGING,
  FEDAVG_FIXMATCH,
  FEDMATCH,
  FEDMATCH_AS_IN_SEMIFL,
  FEDRGD_AS_IN_SEMIFL,
  FEDSGD_FIXMATCH,
  FEDSGD_FIXMATCH_AS_IN_SEMIFL,
  LABELS_ALONE,
  PARALLEL_SEMIFL,
  SELF_TRAINING_AVERAGING,
  SEMIFL,
  SUPERVISED_AVERAGING,
  SUPERVISED_FEDAVG,
)
