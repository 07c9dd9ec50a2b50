# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""An experiment: built from its settings, run, and its results in a folder."""

import asyncio
from collections.abc import Collection, Iterator, Mapping
import contextlib
import dataclasses
import types
from typing import Any

import tensorflow as tf

from tff_semifl import privacy_key as privacy_key_lib
from tff_semifl import settings as settings_lib
from tff_semifl.data import mapped_images
from tff_semifl.data import pipelines
from tff_semifl.experiments import client_privacy
from tff_semifl.experiments import experiment_settings
from tff_semifl.experiments import federated_data
from tff_semifl.experiments import image_task
from tff_semifl.experiments import run_settings
from tff_semifl.experiments import training_programs
from tff_semifl.export import saved_model
from tff_semifl.models import functional
from tff_semifl.programs import by_reference
from tff_semifl.programs import durable_files
from tff_semifl.programs import outputs
from tff_semifl.programs import progress
from tff_semifl.programs import round_metrics
from tff_semifl.programs import tensorboard_log
from tff_semifl.programs import training

_NOTHING = types.MappingProxyType({})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
  """All that a run needs, before anything is trained.

  Attributes:
    settings: The settings, with all defaults filled in.
    run: How it is run, likewise.
    task: What is learned.
    model: The Keras model, with initial weights.
    data: Who has which images.
    clients: The clients.
    training_program: What to train.
    privacy_key: The secret to be kept until it is trained, or None if there is
      none.
  """

  settings: experiment_settings.ExperimentSettings
  run: run_settings.RunSettings
  task: image_task.ImageTask
  model: tf.keras.Model
  data: federated_data.FederatedData
  clients: pipelines.ClientPopulation
  training_program: training.TrainingProgram
  privacy_key: privacy_key_lib.PrivacyKey | None

  @property
  def recorded_settings(self) -> dict[str, Any]:
    """The settings by name, as they are written down.

    Numbers of labels and clients are there too where the task decides on them.
    """
    given = {}
    if self.settings.data.task.gives_shares:
      given = {
        'num_labeled': len(self.data.labeled.labels),
        'num_clients': len(self.data.shares),
      }
    return {**given, **record(self.settings, self.run)}


def record(
  settings: experiment_settings.ExperimentSettings,
  run: run_settings.RunSettings,
) -> dict[str, Any]:
  """Returns settings by name, as they are written down.

  `task` and `total_rounds` are there for all.

  Args:
    settings: The settings, with all defaults filled in.
    run: How it is run, likewise.
  """
  return {
    'task': settings.task_name,
    'total_rounds': settings.system.total_rounds,
    **settings_lib.as_dict(settings),
    **settings_lib.as_dict(run),
  }


def create_experiment(
  settings: experiment_settings.ExperimentSettings,
  run: run_settings.RunSettings,
  *,
  by_index: bool = False,
) -> Experiment:
  """Loads the data and builds everything that is to be run.

  Args:
    settings: The settings.
    run: How it is to be run.
    by_index: Whether computations take indices of images, and read the images
      from a file that all processes of this machine have: for a runtime whose
      worker is one of them.

  Raises:
    settings.SettingError: If settings contradict each other, or the data cannot
      be had or shared out as they say.
    durable_files.OutputError: If the folder has a private key that cannot be
      used.
  """
  task = create_task(settings.data)
  settings = experiment_settings.fill_in(settings, task)
  run = run.fill_in(settings)
  data = load_data(settings.data, task)
  system = settings.system
  # Some of what is wrong with the numbers shows here.
  system.count_steps(
    len(data.labeled.labels), [len(share) for share in data.shares]
  )
  privacy_key = client_privacy.obtain_key(settings.private_mean, run.path)
  images = None
  if by_index:
    data, images = _map_images(data)
  values = settings_lib.as_dict(system)
  with settings_lib.blame('clients_per_round', system.clients_per_round):
    clients = pipelines.ClientPopulation(
      data.unlabeled,
      data.shares,
      clients_per_round=len(data.shares)
      if system.all_clients_take_part
      else system.clients_per_round,
      # With privacy, who takes part is as secret as the noise.
      seed=privacy_key.cohort_seed if privacy_key else settings.seed,
      dropout_probability=values.get('client_dropout_probability', 0.0),
      have_labels=system.clients_have_labels,
      know_turns=system.clients_know_turns,
    )
  with settings_lib.blame(
    'model', settings_lib.name_of(settings.model, 'model')
  ):
    model = settings.model.model.create(task, settings.seed)
  training_program = training_programs.create_training_program(
    settings,
    task,
    model,
    data,
    clients,
    privacy_key,
    run.rounds_per_evaluation,
  )
  if images is not None:
    training_program = by_reference.take_indices(training_program, images)
  is_secret = privacy_key is not None and (
    settings.private_mean.insecure_fixed_privacy_key is None
  )
  return Experiment(
    settings=settings,
    run=run,
    task=task,
    model=model,
    data=data,
    clients=clients,
    training_program=training_program,
    privacy_key=privacy_key if is_secret else None,
  )


def create_task(data: experiment_settings.Data) -> image_task.ImageTask:
  """Creates the task with the strong views that were chosen."""
  task = data.task.create()
  return task if data.strong_views is None else data.strong_views.apply(task)


def load_data(
  data: experiment_settings.Data, task: image_task.ImageTask
) -> federated_data.FederatedData:
  """Loads a task's images and shares them out.

  Args:
    data: The settings, filled in.
    task: The task that they have.

  Raises:
    settings.SettingError: If the data cannot be had or shared out.
  """
  return data.sharing.share_out(
    task, image_task.load(data.task, task), data.seed.seed
  )


def without_clients(experiment: Experiment) -> Experiment:
  """Returns the experiment with no client in any round: the labels alone.

  The server takes the same steps, in the same process. The name is the default.
  """
  settings = settings_lib.change(experiment.settings, {'clients_per_round': 0})
  clients = experiment.clients.with_clients_per_round(0)
  return dataclasses.replace(
    experiment,
    settings=settings,
    run=dataclasses.replace(
      experiment.run, experiment_name=settings.default_name
    ),
    clients=clients,
    training_program=dataclasses.replace(
      experiment.training_program, clients=clients
    ),
    # There is nobody to protect.
    privacy_key=None,
  )


def open_folder(
  experiment: Experiment,
  computed: Mapping[str, Any] = _NOTHING,
  unimportant: Collection[str] = (),
) -> outputs.ExperimentFolder:
  """Makes or finds the experiment's folder.

  Args:
    experiment: The experiment.
    computed: Values of settings by name that say how it is computed, to be
      written down with its own.
    unimportant: Names of settings that may change when it is resumed, beside
      those of the run and of `computed`.

  Raises:
    durable_files.OutputError: If it cannot be written to, holds another
      experiment, or lacks the key of a private one.
  """
  folder = take_folder(
    experiment.settings,
    experiment.run,
    experiment.task,
    {**experiment.recorded_settings, **computed},
    {*computed, *unimportant},
  )
  frozen_weights = functional.frozen_weights(experiment.model)
  if frozen_weights:
    folder.keep_frozen_weights(frozen_weights)
  if experiment.privacy_key is not None:
    folder.keep_privacy_key(
      experiment.privacy_key, experiment.training_program.total_rounds
    )
  return folder


def take_folder(
  settings: experiment_settings.ExperimentSettings,
  run: run_settings.RunSettings,
  task: image_task.ImageTask,
  recorded: Mapping[str, Any],
  unimportant: Collection[str],
) -> outputs.ExperimentFolder:
  """Makes or finds the folder of an experiment that is not built.

  Args:
    settings: The settings, with all defaults filled in.
    run: How it is run, likewise.
    task: What is learned.
    recorded: What is written down of all that.
    unimportant: As in `open_folder`.

  Raises:
    durable_files.OutputError: If it cannot be written to, or holds another
      experiment.
  """
  part = settings.data.task
  given = ('num_labeled', 'num_clients') if part.gives_shares else ()
  return outputs.ExperimentFolder(
    run.path,
    recorded,
    {
      *settings_lib.as_dict(run),
      *unimportant,
      *part.told_by_data,
      *given,
    },
    task.data_description,
    settings.system_name,
  )


def run(
  experiment: Experiment,
  folder: outputs.ExperimentFolder,
  *,
  quiet: bool = False,
) -> training.ProgramState:
  """Trains, resuming what the folder has, and exports the model.

  Args:
    experiment: What to train.
    folder: Where results go, and where an earlier run may have left some.
    quiet: Whether not to show how it goes on standard error.

  Returns:
    The state after the last round.

  Raises:
    training.TrainingDivergedError: If training diverges.
    durable_files.OutputError: If the folder cannot be written to any more or
      holds what is damaged.
  """
  final = _train(experiment, folder, quiet)
  functional.assign_weights(experiment.model, final.state.global_model_weights)
  with (
    durable_files.naming(folder.export_path),
    durable_files.replacing_folder(folder.export_path) as path,
  ):
    saved_model.export_saved_model(
      experiment.model,
      experiment.task.class_names,
      path,
      client_privacy.read(folder.path, final.round_num),
    )
  # Whoever has the model and the key has the model without noise.
  folder.remove_privacy_key()
  return final


def _map_images(
  data: federated_data.FederatedData,
) -> tuple[federated_data.FederatedData, mapped_images.MappedImages]:
  """Returns the data with indices for images, and what these are of."""
  images = mapped_images.MappedImages([data.labeled, data.unlabeled, data.test])
  labeled, unlabeled, test = images.references
  return (
    data._replace(labeled=labeled, unlabeled=unlabeled, test=test),
    images,
  )


def _train(
  experiment: Experiment, folder: outputs.ExperimentFolder, quiet: bool
) -> training.ProgramState:
  """Trains, and lets those who watch know how it goes."""
  program = experiment.training_program
  with (
    _watchers(experiment, folder, quiet) as watchers,
    # Not `asyncio.run`, which would put off an interrupt to the round's end.
    contextlib.closing(asyncio.new_event_loop()) as loop,
  ):

    def on_start(first_round: int) -> None:
      for watcher in watchers:
        watcher.start(first_round)

    def on_round(round_num: int, metrics: round_metrics.RoundMetrics) -> None:
      for watcher in watchers:
        watcher.show_round(round_num, metrics)

    return loop.run_until_complete(
      training.train(
        program,
        state_manager=folder.state_manager(),
        metrics_manager=folder.metrics_manager(),
        memories=experiment.settings.system.create_memories(
          program.process,
          folder,
          num_clients=experiment.clients.num_clients,
          num_kept=outputs.NUM_CHECKPOINTS * program.rounds_per_evaluation,
        ),
        on_start=on_start,
        on_round=on_round,
      )
    )


@contextlib.contextmanager
def _watchers(
  experiment: Experiment, folder: outputs.ExperimentFolder, quiet: bool
) -> Iterator[list[progress.Progress | tensorboard_log.TensorBoardLog]]:
  """Yields what the settings ask for to show how training goes."""
  if experiment.run.draw_data:
    _draw_data(experiment, folder)
  with contextlib.ExitStack() as stack:
    watchers = []
    if not quiet:
      watchers.append(
        stack.enter_context(
          progress.Progress(
            experiment.run.experiment_name,
            experiment.training_program.total_rounds,
          )
        )
      )
    if experiment.run.tensorboard:
      watchers.append(folder.tensorboard_log())
    yield watchers


def _draw_data(
  experiment: Experiment, folder: outputs.ExperimentFolder
) -> None:
  # Matplotlib takes as long to import as a round of digits.
  from tff_semifl.experiments import data_pictures

  data = experiment.data
  # There are systems whose server has no image.
  images = (data.labeled if len(data.labeled.labels) else data.unlabeled).images
  mapped = experiment.training_program.mapped_images
  if mapped is not None:
    images = mapped.read(images).numpy()
  data_pictures.draw(
    folder.pictures_path,
    task=experiment.task,
    data=data,
    title=experiment.settings.data.title,
    images=images,
    seed=experiment.settings.seed,
  )
