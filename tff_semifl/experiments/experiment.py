# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""An experiment: its settings, and what is built from them."""

from collections.abc import Callable, Mapping
import dataclasses
import functools
from typing import Any

from absl import logging
import tensorflow as tf

from tff_semifl import settings as settings_lib
from tff_semifl.data import mapped_images
from tff_semifl.data import names as names_lib
from tff_semifl.data import pipelines
from tff_semifl.data import site_images
from tff_semifl.experiments import client_privacy
from tff_semifl.experiments import experiment_settings
from tff_semifl.experiments import federated_data
from tff_semifl.experiments import filled_settings
from tff_semifl.experiments import image_task
from tff_semifl.experiments import run_settings
from tff_semifl.experiments import training_programs
from tff_semifl.models import functional
from tff_semifl.privacy import privacy_key as privacy_key_lib
from tff_semifl.runs import by_reference
from tff_semifl.runs import training_program as training_program_lib


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
  """All that a run needs, built but not trained.

  Attributes:
    settings: The settings, with all defaults filled in.
    identity: The identity of system, task and model besides their settings.
    run: The settings of the run, with all defaults filled in.
    task: The task.
    model: The Keras model, with initial weights.
    classifier: The model as pure functions.
    data: The images of server, clients and test.
    clients: The clients.
    training_program: The training program.
    used_settings: The values of the system's settings, by name, that building
      its process read. A hook that a subclass overrides reads none.
    privacy_key: The secret key of a private run, or None.
  """

  settings: experiment_settings.ExperimentSettings
  identity: Mapping[str, Any]
  run: run_settings.RunSettings
  task: image_task.ImageTask
  model: tf.keras.Model
  classifier: functional.ImageClassifier
  data: federated_data.FederatedData
  clients: pipelines.ClientPopulation
  training_program: training_program_lib.TrainingProgram
  used_settings: Mapping[str, Any]
  privacy_key: privacy_key_lib.PrivacyKey | None


def create_experiment(
  settings: experiment_settings.ExperimentSettings,
  run: run_settings.RunSettings,
  *,
  by_index: bool = False,
  has_xla: bool = True,
) -> Experiment:
  """Loads the data and builds everything that a run needs.

  Args:
    settings: The settings.
    run: The settings of the run.
    by_index: Whether computations take indices of images, and read the images
      from a file on this machine: for a runtime whose worker is another
      process.
    has_xla: Whether the runtime can compile with XLA.

  Raises:
    settings.SettingError: If settings contradict each other, or the data are
      unavailable or cannot be split as they say.
    durable_files.OutputError: If the folder has an unusable private key.
  """
  identity = settings.identify()
  task = create_task(settings.data, settings.model.model.create_task)
  create_model = functools.cache(functools.partial(settings.create_model, task))
  settings = filled_settings.fill_in(settings, task, create_model)
  run = run.fill_in(settings)
  data = load_data(settings.data, task)
  for line in data.equal_images:
    _warn_once(f'{settings.task_name}: {line}')
  if not len(data.test.labels):
    raise settings_lib.SettingError(
      'task',
      settings.data.task.reference,
      'has no test images; evaluate on labeled ones by num_validation',
    )
  if run.client_accuracy and not data.measures_clients:
    raise settings_lib.SettingError(
      'client_accuracy',
      True,
      'no image of a client has a label to measure by; own_data takes'
      ' unlabeled_labels, and image_folder clients/<client>/labels.csv',
    )
  system = settings.system
  names = settings.data.task.sites
  if names and system.gathers_images:
    raise settings_lib.SettingError(
      'sites',
      names,
      f'{settings.system_name} needs the images of clients in one place',
    )
  system.check_num_clients(len(data.shares))
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
      # With privacy, the cohorts are as secret as the noise.
      seed=privacy_key.cohort_seed if privacy_key else settings.seed,
      dropout_probability=values.get('client_dropout_probability', 0.0),
      have_labels=system.clients_have_labels,
      know_participation=system.clients_know_participation,
      in_passes=system.cohorts_are_passes,
    )
  model = create_model()

  def build(
    *, jit_compile: bool
  ) -> tuple[functional.ImageClassifier, training_program_lib.TrainingProgram]:
    chosen = settings_lib.change(settings, {'jit_compile': jit_compile})
    classifier = training_programs.create_classifier(model, chosen.model)
    return classifier, training_programs.create_training_program(
      chosen,
      task,
      classifier,
      data,
      clients,
      privacy_key,
      run.rounds_per_evaluation,
      run.metrics,
    )

  compiles = has_xla and settings.model.compiles
  with (
    settings_lib.blame('sites', names, site_images.NotHereError),
    settings_lib.record_reads() as reads,
  ):
    try:
      classifier, training_program = build(jit_compile=compiles)
    except settings_lib.SettingError as error:
      if error.name != 'jit_compile' or settings.model.jit_compile:
        raise
      logging.warning('Training is not compiled: %s', error.problem)
      classifier, training_program = build(jit_compile=False)
    else:
      if compiles:
        logging.info('XLA compiles training in round 1: a minute or two.')
  if images is not None:
    training_program = by_reference.take_indices(training_program, images)
  is_secret = privacy_key is not None and (
    settings.private_mean.insecure_fixed_privacy_key is None
  )
  return Experiment(
    settings=settings,
    identity=identity,
    run=run,
    task=task,
    model=model,
    classifier=classifier,
    data=data,
    clients=clients,
    training_program=training_program,
    used_settings={
      name: value for name, value in values.items() if name in reads
    },
    privacy_key=privacy_key if is_secret else None,
  )


@functools.cache
def _warn_once(line: str) -> None:
  """Logs a warning once, even if several seeds' experiments repeat it."""
  logging.warning('%s', line)


def _create(part: image_task.Task) -> image_task.ImageTask:
  return part.create()


def create_task(
  data: experiment_settings.Data,
  create: Callable[[image_task.Task], image_task.ImageTask] = _create,
) -> image_task.ImageTask:
  """Creates the task with the chosen augmentation.

  Args:
    data: The settings.
    create: Creates the task of its settings: a model's `create_task`.
  """
  task = data.weak.apply(create(data.task))
  return task if data.strong is None else data.strong.apply(task)


def load_data(
  data: experiment_settings.Data, task: image_task.ImageTask
) -> federated_data.FederatedData:
  """Loads a task's images and splits them among server and clients.

  Args:
    data: The settings, filled in.
    task: The task of these settings.

  Raises:
    settings.SettingError: If the data are unavailable or cannot be split.
  """
  images = image_task.load(data.task, task)
  try:
    shared = data.duplicates.find_and_drop(
      images,
      lambda images: data.data_split.split(task, images, data.seed.seed),
      'validation' if data.validates else 'test',
    )
  except settings_lib.SettingError as error:
    if not isinstance(error.__cause__, names_lib.ClassError):
      raise
    raise settings_lib.SettingError(
      error.name, error.value, error.__cause__.with_names(task.class_names)
    ) from error
  return shared._replace(partition_notes=data.data_split.describe(shared))


def without_clients(experiment: Experiment) -> Experiment:
  """The same experiment on the labels alone, without clients.

  The server takes the same steps in the same process. The name is the default.
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
    # Without clients there is no privacy to protect.
    privacy_key=None,
  )


def _map_images(
  data: federated_data.FederatedData,
) -> tuple[federated_data.FederatedData, mapped_images.MappedImages]:
  """The data with indices in place of images, and the images."""
  images = mapped_images.MappedImages([data.labeled, data.unlabeled, data.test])
  labeled, unlabeled, test = images.references
  return (
    data._replace(labeled=labeled, unlabeled=unlabeled, test=test),
    images,
  )
