# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""An experiment as the flags describe it: built and run."""

import asyncio
from collections.abc import Iterator
import contextlib
import dataclasses
import pathlib

import tensorflow as tf

from launch import aggregator_flags
from launch import augmentation_flags
from launch import chosen_aggregator
from launch import chosen_task
from launch import federated_data
from launch import models
from launch import privacy_record
from launch import program
from launch import run_flags
from launch import settings as settings_lib
from launch import system as system_lib
from launch import training_flags
from launch import training_programs
from tasks import image_task
from tff_semifl import privacy_key as privacy_key_lib
from tff_semifl.data import mapped_images
from tff_semifl.data import pipelines
from tff_semifl.export import saved_model
from tff_semifl.models import functional
from tff_semifl.programs import by_reference
from tff_semifl.programs import durable_files
from tff_semifl.programs import outputs
from tff_semifl.programs import progress
from tff_semifl.programs import round_metrics
from tff_semifl.programs import tensorboard_log
from tff_semifl.programs import training


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
  """All that a run needs, before anything is trained.

  Attributes:
    system: What is trained.
    settings: Flags with all defaults filled in.
    task: What is learned.
    model: The Keras model, with initial weights.
    data: Who has which images, by reference with --runtime=native.
    clients: The clients.
    training_program: What to train.
    privacy_key: The secret to be kept until it is trained, or None if there is
      none.
  """

  system: system_lib.System
  settings: settings_lib.Settings
  task: image_task.ImageTask
  model: tf.keras.Model
  data: federated_data.FederatedData
  clients: pipelines.ClientPopulation
  training_program: training.TrainingProgram
  privacy_key: privacy_key_lib.PrivacyKey | None


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
      experiment_name=settings_lib.default_name(
        experiment.system,
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
    # There is nobody to protect.
    privacy_key=None,
  )


def create_experiment(
  system: system_lib.System, settings: settings_lib.Settings
) -> Experiment:
  """Loads the data and builds everything that is to be run.

  Args:
    system: What is to be trained.
    settings: The flags.

  Raises:
    program.FlagError: If the data cannot be had, or cannot be shared out as
      the flags ask.
  """
  task = augmentation_flags.with_chosen_augmentation(chosen_task.create_task())
  data = system.create_data(
    task,
    federated_data.resolve_partition(),
    num_labeled=settings.num_labeled,
    seed=settings.seed,
  )
  privacy_key = chosen_aggregator.obtain_privacy_key(
    settings.aggregation, _folder_path(settings)
  )
  images = None
  # In process nothing is sent, and remote workers cannot map what is here.
  if run_flags.RUNTIME.value == 'native':
    data, images = _map_images(data)
  with program.blame(
    training_flags.CLIENTS_PER_ROUND,
    ValueError,
    value=settings.clients_per_round,
  ):
    clients = pipelines.ClientPopulation(
      data.unlabelled,
      data.shares,
      clients_per_round=len(data.shares)
      if system.all_clients_take_part
      else settings.clients_per_round,
      # With privacy, who takes part is as secret as the noise.
      seed=privacy_key.cohort_seed if privacy_key else settings.seed,
      dropout_probability=aggregator_flags.CLIENT_DROPOUT_PROBABILITY.value,
      have_labels=system.clients_have_labels,
      know_turns=system.clients_know_turns,
    )
  model = models.create_model(task, settings)
  training_program = training_programs.create_training_program(
    system, settings, task, model, data, clients, privacy_key
  )
  if images is not None:
    training_program = by_reference.take_indices(training_program, images)
  return Experiment(
    system=system,
    settings=settings,
    task=task,
    model=model,
    data=data,
    clients=clients,
    training_program=training_program,
    privacy_key=None
    if settings.aggregation.insecure_fixed_privacy_key
    else privacy_key,
  )


def _folder_path(settings: settings_lib.Settings) -> pathlib.Path:
  return pathlib.Path(run_flags.OUTPUT_DIR.value) / settings.experiment_name


def _map_images(
  data: federated_data.FederatedData,
) -> tuple[federated_data.FederatedData, mapped_images.MappedImages]:
  """Returns the data with indices for images, and what these are of."""
  images = mapped_images.MappedImages(
    [data.labelled, data.unlabelled, data.test]
  )
  labelled, unlabelled, test = images.references
  return (
    data._replace(labelled=labelled, unlabelled=unlabelled, test=test),
    images,
  )


def open_folder(
  system: system_lib.System,
  settings: settings_lib.Settings,
  privacy_key: privacy_key_lib.PrivacyKey | None = None,
) -> outputs.ExperimentFolder:
  """Makes or finds the experiment's folder.

  Args:
    system: What is to be trained.
    settings: The flags.
    privacy_key: That of the experiment, to be kept in the folder.

  Raises:
    program.FlagError: If it cannot be written to, holds another experiment, or
      lacks the key of a private one.
  """
  with program.blame(run_flags.OUTPUT_DIR, durable_files.OutputError):
    folder = outputs.ExperimentFolder(
      _folder_path(settings),
      settings_lib.all_flags(system, settings),
      run_flags.MAY_CHANGE | chosen_task.names_of_flags_told_by_data(),
      chosen_task.create_task().data_description,
      system.name,
    )
    if privacy_key is not None:
      folder.keep_privacy_key(privacy_key, settings.total_rounds)
  return folder


def run(
  experiment: Experiment, folder: outputs.ExperimentFolder
) -> training.ProgramState:
  """Trains, resuming what the folder has, and exports the model.

  Args:
    experiment: What to train.
    folder: Where results go, and where an earlier run may have left some.

  Returns:
    The state after the last round.

  Raises:
    program.FlagError: If training diverges, or the folder cannot be written to
      any more or holds what is damaged.
  """
  with program.blame(run_flags.OUTPUT_DIR, durable_files.OutputError):
    final = _train(experiment, folder)
    functional.assign_weights(
      experiment.model, final.state.global_model_weights
    )
    with (
      durable_files.naming(folder.export_path),
      durable_files.replacing_folder(folder.export_path) as path,
    ):
      saved_model.export_saved_model(
        experiment.model,
        experiment.task.class_names,
        path,
        privacy_record.read(folder.path, final.round_num),
      )
    # Whoever has the model and the key has the model without noise.
    folder.remove_privacy_key()
  return final


def _train(
  experiment: Experiment, folder: outputs.ExperimentFolder
) -> training.ProgramState:
  """Trains, and lets those who watch know how it goes."""
  with (
    _watchers(experiment, folder) as watchers,
    # Not `asyncio.run`, which would put off an interrupt to the round's end.
    contextlib.closing(asyncio.new_event_loop()) as loop,
    program.blame(training_flags.LEARNING_RATE, training.TrainingDivergedError),
  ):

    def on_start(first_round: int) -> None:
      for watcher in watchers:
        watcher.start(first_round)

    def on_round(round_num: int, metrics: round_metrics.RoundMetrics) -> None:
      for watcher in watchers:
        watcher.show_round(round_num, metrics)

    return loop.run_until_complete(
      training.train(
        experiment.training_program,
        state_manager=folder.state_manager(),
        metrics_manager=folder.metrics_manager(),
        memories=experiment.system.create_memories(
          experiment.training_program.process,
          folder,
          experiment.clients.num_clients,
        ),
        on_start=on_start,
        on_round=on_round,
      )
    )


@contextlib.contextmanager
def _watchers(
  experiment: Experiment, folder: outputs.ExperimentFolder
) -> Iterator[list[progress.Progress | tensorboard_log.TensorBoardLog]]:
  """Yields what the flags ask for to show how training goes."""
  if run_flags.DRAW_DATA.value:
    _draw_data(experiment, folder)
  with contextlib.ExitStack() as stack:
    watchers = []
    if not program.is_quiet():
      watchers.append(
        stack.enter_context(
          progress.Progress(
            experiment.settings.experiment_name,
            experiment.training_program.total_rounds,
          )
        )
      )
    if run_flags.TENSORBOARD.value:
      watchers.append(folder.tensorboard_log())
    yield watchers


def _draw_data(
  experiment: Experiment, folder: outputs.ExperimentFolder
) -> None:
  # Matplotlib takes as long to import as a round of digits.
  from launch import data_pictures

  data = experiment.data
  # There are systems whose server has no image.
  images = (
    data.labelled if len(data.labelled.labels) else data.unlabelled
  ).images
  mapped_images = experiment.training_program.mapped_images
  if mapped_images is not None:
    images = mapped_images.read(images).numpy()
  data_pictures.draw(
    folder.pictures_path,
    task=experiment.task,
    data=data,
    images=images,
    seed=experiment.settings.seed,
  )
