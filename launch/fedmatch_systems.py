# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FedMatch, as SemiFL's tables have it and as its own authors do (D.6)."""

from absl import flags
import tensorflow_federated as tff

from launch import aggregator_flags
from launch import augmentation_flags
from launch import data_flags
from launch import fedmatch_flags
from launch import image_folder_flags
from launch import model_flags
from launch import run_flags
from launch import system
from launch import training_flags
from launch import worker_flags
from tasks import image_task
from tff_semifl.algorithms import federated_process
from tff_semifl.algorithms import fedmatch
from tff_semifl.algorithms import fedmatch_as_in_semifl
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.models import functional
from tff_semifl.programs import helpers
from tff_semifl.programs import outputs

flags.disclaim_key_flags()

_FLAGS = (
  data_flags,
  image_folder_flags,
  augmentation_flags,
  model_flags,
  training_flags,
  fedmatch_flags,
  aggregator_flags,
  run_flags,
  worker_flags,
)


def _build_fedmatch(
  classifier: functional.ImageClassifier,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  task: image_task.ImageTask,
  aggregator: tff.aggregators.AggregationFactory,
) -> federated_process.FederatedProcess:
  return fedmatch.build_fedmatch(
    classifier,
    fedmatch.FedMatchHyperparameters(
      seed=hyperparameters.seed,
      learning_rate=hyperparameters.learning_rate,
      server_epochs=hyperparameters.server_epochs,
      client_epochs=hyperparameters.client_epochs,
      server_batch_size=hyperparameters.server_batch_size,
      client_batch_size=hyperparameters.client_batch_size,
      confidence_threshold=hyperparameters.confidence_threshold,
      supervised_loss_weight=fedmatch_flags.SUPERVISED_LOSS_WEIGHT.value,
      max_update_norm_ratio=hyperparameters.max_update_norm_ratio,
      return_given_labels=hyperparameters.return_given_labels,
    ),
    strong_augmentation=task.strong_augmentation,
    aggregator=aggregator,
  )


def _create_helpers(
  process: federated_process.FederatedProcess,
  folder: outputs.ExperimentFolder,
  num_clients: int,
) -> helpers.Helpers:
  return helpers.Helpers(
    process,
    folder.path / 'helpers',
    num_clients=num_clients,
    num_helpers=fedmatch_flags.NUM_HELPERS.value,
    rounds_per_help=fedmatch_flags.ROUNDS_PER_HELP.value,
    num_kept=outputs.NUM_CHECKPOINTS * run_flags.ROUNDS_PER_EVALUATION.value,
  )


FEDMATCH_AS_IN_SEMIFL = system.System(
  name='fedmatch_as_in_semifl',
  flag_modules=_FLAGS,
  unused_flags=(
    fedmatch_flags.SUPERVISED_LOSS_WEIGHT,
    fedmatch_flags.NUM_HELPERS,
    fedmatch_flags.ROUNDS_PER_HELP,
  ),
  defaults={model_flags.MODEL.name: 'decomposed_wide_resnet'},
  build_process=system.build_from_task(
    fedmatch_as_in_semifl.build_fedmatch_as_in_semifl,
    lambda: {'reproduce_bugs': fedmatch_flags.REPRODUCE_BUGS.value},
  ),
  measures_pseudo_labels=lambda: True,
  models=('decomposed_wide_resnet',),
)
FEDMATCH = system.System(
  name='fedmatch',
  flag_modules=_FLAGS,
  unused_flags=(
    fedmatch_flags.REPRODUCE_BUGS,
    model_flags.MODEL_DEPTH,
    model_flags.MODEL_WIDTH,
    model_flags.NORMALIZATION,
    training_flags.MOMENTUM,
    training_flags.WEIGHT_DECAY,
    training_flags.CLIP_NORM,
    training_flags.GLOBAL_MOMENTUM,
    training_flags.KEEP_SERVER_MOMENTUM,
    training_flags.KEEP_CLIENT_MOMENTUM,
    training_flags.BATCH_NORM_STATISTICS,
    training_flags.REPRODUCE_FINAL_TEST,
    # Updates are averaged with weights of 0 or 1.
    aggregator_flags.NOISE_MULTIPLIER,
    aggregator_flags.CLIPPING_NORM,
    aggregator_flags.PRIVACY_DELTA,
    aggregator_flags.INSECURE_FIXED_PRIVACY_KEY,
  ),
  defaults={
    model_flags.MODEL.name: 'fedmatch_resnet',
    augmentation_flags.STRONG_AUGMENTATION.name: 'fedmatch',
    training_flags.CLIENTS_PER_ROUND.name: 5,
    training_flags.TOTAL_ROUNDS.name: 200,
    training_flags.CLIENT_EPOCHS.name: 1.0,
    training_flags.SERVER_EPOCHS.name: 1.0,
    training_flags.CLIENT_BATCH_SIZE.name: 100,
    training_flags.SERVER_BATCH_SIZE.name: 100,
    training_flags.CONFIDENCE_THRESHOLD.name: 0.75,
    training_flags.LEARNING_RATE.name: 1e-3,
  },
  build_process=_build_fedmatch,
  measures_pseudo_labels=lambda: True,
  models=('fedmatch_resnet',),
  create_memories=_create_helpers,
)
