# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""An experiment as the flags describe it: built and run."""

import asyncio
import contextlib
import dataclasses
import pathlib
import sys

import tensorflow as tf

from launch import augmentation_flags
from launch import chosen_task
from launch import federated_data
from launch import models
from launch import program
from launch import run_flags
from launch import settings as settings_lib
from launch import systems
from launch import training_flags
from launch import training_programs
from tasks import image_task
from tff_semifl import export
from tff_semifl.algorithms import stateful_process
from tff_semifl.data import mapped_images
from tff_semifl.data import pipelines
from tff_semifl.programs import by_reference
from tff_semifl.programs import durable_files
from tff_semifl.programs import outputs
from tff_semifl.programs import progress
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
  """

  system: systems.System
  settings: settings_lib.Settings
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
  )


def create_experiment(
  system: systems.System, settings: settings_lib.Settings
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
  data = federated_data.create_federated_data(
    task,
    federated_data.resolve_partition(),
    num_labeled=settings.num_labeled,
    seed=settings.seed,
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
      clients_per_round=settings.clients_per_round,
      seed=settings.seed,
    )
  model = models.create_model(task, settings)
  training_program = training_programs.create_training_program(
    system, settings, task, model, data, clients
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
  )


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
  system: systems.System, settings: settings_lib.Settings
) -> outputs.ExperimentFolder:
  """Makes or finds the experiment's folder.

  Args:
    system: What is to be trained.
    settings: The flags.

  Raises:
    program.FlagError: If it cannot be written to or holds another experiment.
  """
  path = pathlib.Path(run_flags.OUTPUT_DIR.value) / settings.experiment_name
  with program.blame(run_flags.OUTPUT_DIR, durable_files.OutputError):
    return outputs.ExperimentFolder(
      path,
      settings_lib.all_flags(system, settings),
      run_flags.MAY_CHANGE | chosen_task.names_of_flags_told_by_data(),
      chosen_task.create_task().data_description,
    )


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
    with durable_files.naming(folder.export_path):
      export.export_saved_model(
        experiment.model,
        final.state.global_model_weights,
        experiment.task.class_names,
        folder.export_path,
      )
  return final


def _train(
  experiment: Experiment, folder: outputs.ExperimentFolder
) -> training.ProgramState:
  """Trains, and says how far that is."""
  total_rounds = training_flags.TOTAL_ROUNDS.value
  label = experiment.settings.experiment_name
  process = experiment.training_program.process
  client_states = None
  if isinstance(process, stateful_process.StatefulProcess):
    client_states = folder.client_states(process.initialize_client_state)
  with progress.Progress(label, total_rounds) as shown:
    # Not `asyncio.run`, which would put off an interrupt to the round's end.
    with (
      contextlib.closing(asyncio.new_event_loop()) as loop,
      program.blame(
        training_flags.LEARNING_RATE, training.TrainingDivergedError
      ),
    ):
      final = loop.run_until_complete(
        training.train(
          experiment.training_program,
          state_manager=folder.state_manager(),
          metrics_manager=folder.metrics_manager(),
          client_states=client_states,
          on_start=shown.start,
          on_round=shown.show_round,
        )
      )
  if shown.num_rounds == 0:
    print(
      f'{label}: was complete after round {final.round_num}; nothing to train',
      file=sys.stderr,
    )
  return final
