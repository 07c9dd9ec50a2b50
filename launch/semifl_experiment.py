# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A SemiFL experiment as the flags describe it: built, shown and run."""

import asyncio
import dataclasses
import math
import pathlib
import sys

import numpy as np
import tensorflow as tf

from launch import program
from launch import semifl_flags
from tasks import image_task
from tasks import registry
from tff_semifl import export
from tff_semifl import optimizers
from tff_semifl.algorithms import evaluation
from tff_semifl.algorithms import semifl
from tff_semifl.data import partition
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.models import functional
from tff_semifl.programs import outputs
from tff_semifl.programs import progress
from tff_semifl.programs import training

_EVALUATION_BATCH_SIZE = 500
_PARTITIONS = {'iid': partition.partition_iid}


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
  """

  seed: int
  clients_per_round: int
  num_labeled: int
  server_batch_size: int
  model_depth: int
  model_width: int
  experiment_name: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
  """All that a run needs, before anything is trained.

  Attributes:
    settings: Flags with all defaults filled in.
    task: What is learned.
    model: The Keras model, with initial weights.
    labelled: The server's images.
    test: The images to evaluate on.
    clients: The clients.
    training_program: What to train.
  """

  settings: Settings
  task: image_task.ImageTask
  model: tf.keras.Model
  labelled: sources.LabelledImages
  test: sources.LabelledImages
  clients: pipelines.ClientPopulation
  training_program: training.TrainingProgram


def resolve_settings(*, seed: int | None = None) -> Settings:
  """Returns the flags with all defaults filled in.

  Args:
    seed: Instead of the flag's.
  """
  task = registry.create_task(semifl_flags.TASK.value)
  seed = semifl_flags.SEED.value if seed is None else seed
  clients_per_round = semifl_flags.CLIENTS_PER_ROUND.value
  num_labeled = semifl_flags.NUM_LABELED.value or task.num_labeled
  return Settings(
    seed=seed,
    clients_per_round=clients_per_round,
    num_labeled=num_labeled,
    server_batch_size=semifl_flags.SERVER_BATCH_SIZE.value
    or (250 if num_labeled > 250 else 10),
    model_depth=semifl_flags.MODEL_DEPTH.value or task.model_depth,
    model_width=semifl_flags.MODEL_WIDTH.value or task.model_width,
    experiment_name=semifl_flags.EXPERIMENT_NAME.value
    or _experiment_name(clients_per_round, num_labeled, seed),
  )


def _experiment_name(
  clients_per_round: int, num_labeled: int, seed: int
) -> str:
  method = 'semifl' if clients_per_round else 'labels_alone'
  return f'{method}_{semifl_flags.TASK.value}_{num_labeled}_seed{seed}'


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
      experiment_name=_experiment_name(0, settings.num_labeled, settings.seed),
    ),
    clients=clients,
    training_program=dataclasses.replace(
      experiment.training_program, clients=clients
    ),
  )


def create_experiment(settings: Settings) -> Experiment:
  """Loads the data and builds everything that is to be run.

  Raises:
    program.FlagError: If the data cannot be had, or cannot be shared out as
      the flags ask.
  """
  task = registry.create_task(semifl_flags.TASK.value)
  with program.blame(semifl_flags.DATA_DIR, sources.DataNotFoundError):
    data = task.load(semifl_flags.DATA_DIR.value)
  with program.blame(
    semifl_flags.NUM_LABELED, ValueError, value=settings.num_labeled
  ):
    split = partition.split_labels(
      data.train.labels,
      settings.num_labeled,
      task.num_classes,
      settings.seed,
    )
  labelled = data.train.select(split.labelled)
  unlabelled = data.train.select(split.unlabelled)
  with program.blame(semifl_flags.NUM_CLIENTS, ValueError):
    partition_fn = _PARTITIONS[semifl_flags.PARTITION.value]
    shares = partition_fn(
      len(unlabelled.labels), semifl_flags.NUM_CLIENTS.value, settings.seed
    )
  with program.blame(
    semifl_flags.CLIENTS_PER_ROUND,
    ValueError,
    value=settings.clients_per_round,
  ):
    clients = pipelines.ClientPopulation(
      unlabelled,
      shares,
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
    labelled=labelled,
    test=data.test,
    clients=clients,
    training_program=_create_training_program(
      settings, task, model, labelled, data.test, clients
    ),
  )


def _create_training_program(
  settings: Settings,
  task: image_task.ImageTask,
  model: tf.keras.Model,
  labelled: sources.LabelledImages,
  test: sources.LabelledImages,
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
      flags.LEARNING_RATE.value,
      momentum=flags.MOMENTUM.value,
      weight_decay=flags.WEIGHT_DECAY.value,
      clip_norm=flags.CLIP_NORM.value,
    ),
    global_momentum=flags.GLOBAL_MOMENTUM.value,
  )
  pseudo_label_evaluation = None
  if flags.MEASURE_PSEUDO_LABELS.value:
    pseudo_label_evaluation = evaluation.build_pseudo_label_evaluation(
      classifier,
      weak_augmentation=task.weak_augmentation,
      confidence_threshold=flags.CONFIDENCE_THRESHOLD.value,
    )
  return training.TrainingProgram(
    process=process,
    evaluation=evaluation.build_evaluation(classifier),
    pseudo_label_evaluation=pseudo_label_evaluation,
    server_dataset=pipelines.labelled_dataset(labelled),
    clients=clients,
    test_dataset=pipelines.batched_dataset(test, _EVALUATION_BATCH_SIZE),
    total_rounds=flags.TOTAL_ROUNDS.value,
  )


def flag_values(settings: Settings) -> dict[str, object]:
  """Returns all flags by name, with all defaults filled in."""
  return semifl_flags.all_values() | dataclasses.asdict(settings)


def describe(experiment: Experiment) -> dict[str, object]:
  """Says what would be run: sizes, steps, parameters, flags."""
  settings = experiment.settings
  sizes = experiment.clients.num_images
  client_batches = math.ceil(max(sizes) / semifl_flags.CLIENT_BATCH_SIZE.value)
  server_batches = math.ceil(settings.num_labeled / settings.server_batch_size)
  return {
    'labelled_images': len(experiment.labelled.labels),
    'unlabelled_images': experiment.clients.num_unlabelled,
    'unlabelled_images_at_clients': sum(sizes),
    'test_images': len(experiment.test.labels),
    'clients': experiment.clients.num_clients,
    'clients_per_round': settings.clients_per_round,
    'images_per_client': {'least': min(sizes), 'most': max(sizes)},
    'server_steps_per_round': semifl_flags.SERVER_EPOCHS.value * server_batches,
    'client_steps_per_round_at_most': semifl_flags.CLIENT_EPOCHS.value
    * client_batches,
    'trainable_parameters': sum(
      int(np.prod(weight.shape))
      for weight in experiment.model.trainable_weights
    ),
    'flags': flag_values(settings),
  }


def open_folder(settings: Settings) -> outputs.ExperimentFolder:
  """Makes or finds the experiment's folder.

  Raises:
    program.FlagError: If it cannot be written to or holds another experiment.
  """
  path = pathlib.Path(semifl_flags.OUTPUT_DIR.value) / settings.experiment_name
  with program.blame(semifl_flags.OUTPUT_DIR, outputs.OutputError):
    return outputs.ExperimentFolder(
      path, flag_values(settings), semifl_flags.MAY_CHANGE
    )


def run(
  experiment: Experiment, folder: outputs.ExperimentFolder
) -> training.ProgramState:
  """Trains, resuming what the folder has, and exports the model."""
  total_rounds = semifl_flags.TOTAL_ROUNDS.value
  label = experiment.settings.experiment_name
  with progress.Progress(label, total_rounds) as shown:
    final = asyncio.run(
      training.train(
        experiment.training_program,
        state_manager=folder.state_manager(),
        metrics_manager=folder.metrics_manager(),
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
