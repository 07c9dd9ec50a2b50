# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A SemiFL experiment as the flags describe it: built, shown and run."""

import asyncio
import contextlib
import dataclasses
import math
import pathlib
import sys

import numpy as np
import tensorflow as tf

from launch import augmentation_flags
from launch import data_flags
from launch import federated_data
from launch import program
from launch import semifl_flags
from launch import semifl_settings
from tasks import image_task
from tasks import registry
from tff_semifl import export
from tff_semifl import optimizers
from tff_semifl.algorithms import evaluation
from tff_semifl.algorithms import semifl
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.models import functional
from tff_semifl.programs import outputs
from tff_semifl.programs import progress
from tff_semifl.programs import training

_EVALUATION_BATCH_SIZE = 500


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
  """All that a run needs, before anything is trained.

  Attributes:
    settings: Flags with all defaults filled in.
    task: What is learned.
    model: The Keras model, with initial weights.
    data: Who has which images.
    clients: The clients.
    training_program: What to train.
  """

  settings: semifl_settings.Settings
  task: image_task.ImageTask
  model: tf.keras.Model
  data: federated_data.FederatedData
  clients: pipelines.ClientPopulation
  training_program: training.TrainingProgram


def without_clients(experiment: Experiment) -> Experiment:
  """Returns the experiment with no client in any round: the labels alone.

  The server takes the same steps, in the same process.
  """
  settings = experiment.settings
  clients = experiment.clients.with_clients_per_round(0)
  return dataclasses.replace(
    experiment,
    settings=dataclasses.replace(
      settings,
      clients_per_round=0,
      experiment_name=semifl_settings.default_name(
        0,
        settings.num_labeled,
        federated_data.resolve_partition(),
        settings.seed,
      ),
    ),
    clients=clients,
    training_program=dataclasses.replace(
      experiment.training_program, clients=clients
    ),
  )


def create_experiment(settings: semifl_settings.Settings) -> Experiment:
  """Loads the data and builds everything that is to be run.

  Raises:
    program.FlagError: If the data cannot be had, or cannot be shared out as
      the flags ask.
  """
  task = augmentation_flags.with_chosen_augmentation(
    registry.create_task(data_flags.TASK.value)
  )
  data = federated_data.create_federated_data(
    task,
    federated_data.resolve_partition(),
    num_labeled=settings.num_labeled,
    seed=settings.seed,
  )
  with program.blame(
    semifl_flags.CLIENTS_PER_ROUND,
    ValueError,
    value=settings.clients_per_round,
  ):
    clients = pipelines.ClientPopulation(
      data.unlabelled,
      data.shares,
      clients_per_round=settings.clients_per_round,
      seed=settings.seed,
    )
  with program.blame(
    semifl_flags.MODEL_DEPTH, ValueError, value=settings.model_depth
  ):
    model = task.create_model(
      settings.model_depth, settings.model_width, settings.seed
    )
  return Experiment(
    settings=settings,
    task=task,
    model=model,
    data=data,
    clients=clients,
    training_program=_create_training_program(
      settings, task, model, data, clients
    ),
  )


def _create_training_program(
  settings: semifl_settings.Settings,
  task: image_task.ImageTask,
  model: tf.keras.Model,
  data: federated_data.FederatedData,
  clients: pipelines.ClientPopulation,
) -> training.TrainingProgram:
  flags = semifl_flags
  classifier = functional.from_keras(model)
  process = semifl.build_semifl(
    classifier,
    weak_augmentation=task.weak_augmentation,
    strong_augmentation=task.strong_augmentation,
    total_rounds=flags.TOTAL_ROUNDS.value,
    server_batch_size=settings.server_batch_size,
    seed=settings.seed,
    client_epochs=flags.CLIENT_EPOCHS.value,
    server_epochs=flags.SERVER_EPOCHS.value,
    client_batch_size=flags.CLIENT_BATCH_SIZE.value,
    confidence_threshold=flags.CONFIDENCE_THRESHOLD.value,
    mixup_concentration=flags.MIXUP_CONCENTRATION.value,
    mix_loss_weight=flags.MIX_LOSS_WEIGHT.value,
    learning_rate=flags.LEARNING_RATE.value,
    optimizer=optimizers.build_nesterov_sgd(
      momentum=flags.MOMENTUM.value,
      weight_decay=flags.WEIGHT_DECAY.value,
      clip_norm=flags.CLIP_NORM.value,
    ),
    global_momentum=flags.GLOBAL_MOMENTUM.value,
  )
  pseudo_label_evaluation = None
  truth_is_known = np.all(data.unlabelled.labels != sources.UNKNOWN_LABEL)
  if flags.MEASURE_PSEUDO_LABELS.value and truth_is_known:
    pseudo_label_evaluation = evaluation.build_pseudo_label_evaluation(
      classifier,
      weak_augmentation=task.weak_augmentation,
      confidence_threshold=flags.CONFIDENCE_THRESHOLD.value,
    )
  return training.TrainingProgram(
    process=process,
    evaluation=evaluation.build_evaluation(classifier),
    pseudo_label_evaluation=pseudo_label_evaluation,
    server_dataset=pipelines.labelled_dataset(data.labelled),
    clients=clients,
    test_dataset=pipelines.batched_dataset(data.test, _EVALUATION_BATCH_SIZE),
    total_rounds=flags.TOTAL_ROUNDS.value,
  )


def describe(experiment: Experiment) -> dict[str, object]:
  """Says what would be run: sizes, steps, parameters, flags."""
  settings = experiment.settings
  sizes = experiment.clients.num_images
  client_batches = math.ceil(max(sizes) / semifl_flags.CLIENT_BATCH_SIZE.value)
  server_batches = math.ceil(settings.num_labeled / settings.server_batch_size)
  return {
    'labelled_images': len(experiment.data.labelled.labels),
    'unlabelled_images': len(experiment.data.unlabelled.labels),
    'unlabelled_images_at_clients': sum(sizes),
    'test_images': len(experiment.data.test.labels),
    'clients': len(sizes),
    'clients_per_round': settings.clients_per_round,
    'images_per_client': {'least': min(sizes), 'most': max(sizes)},
    'server_steps_per_round': semifl_flags.SERVER_EPOCHS.value * server_batches,
    'steps_of_a_client_per_round_at_most': semifl_flags.CLIENT_EPOCHS.value
    * client_batches,
    'trainable_parameters': sum(
      int(np.prod(weight.shape))
      for weight in experiment.model.trainable_weights
    ),
    'flags': semifl_settings.all_flags(settings),
  }


def open_folder(settings: semifl_settings.Settings) -> outputs.ExperimentFolder:
  """Makes or finds the experiment's folder.

  Raises:
    program.FlagError: If it cannot be written to or holds another experiment.
  """
  path = pathlib.Path(semifl_flags.OUTPUT_DIR.value) / settings.experiment_name
  with program.blame(semifl_flags.OUTPUT_DIR, outputs.OutputError):
    return outputs.ExperimentFolder(
      path, semifl_settings.all_flags(settings), semifl_flags.MAY_CHANGE
    )


def run(
  experiment: Experiment, folder: outputs.ExperimentFolder
) -> training.ProgramState:
  """Trains, resuming what the folder has, and exports the model."""
  total_rounds = semifl_flags.TOTAL_ROUNDS.value
  label = experiment.settings.experiment_name
  with progress.Progress(label, total_rounds) as shown:
    # Not `asyncio.run`, which would put off an interrupt to the round's end.
    with (
      contextlib.closing(asyncio.new_event_loop()) as loop,
      program.blame(semifl_flags.LEARNING_RATE, training.TrainingDivergedError),
    ):
      final = loop.run_until_complete(
        training.train(
          experiment.training_program,
          state_manager=folder.state_manager(),
          metrics_manager=folder.metrics_manager(),
          on_start=shown.start,
          on_round=shown.show_round,
        )
      )
  if shown.num_rounds == 0:
    print(
      f'{label}: was complete after round {final.round_num}; nothing to train',
      file=sys.stderr,
    )
  export.export_saved_model(
    experiment.model,
    final.state.global_model_weights,
    experiment.task.class_names,
    folder.export_path,
  )
  return final
