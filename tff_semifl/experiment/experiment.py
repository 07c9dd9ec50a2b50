# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""An experiment: its settings, and what is built from them."""

from collections.abc import Callable, Mapping
import dataclasses
import functools
from typing import Any

from absl import logging
import numpy as np
import tensorflow as tf

from tff_semifl import settings as settings_lib
from tff_semifl.algorithms import system as system_lib
from tff_semifl.augment import rand_augment
from tff_semifl.core import evaluation
from tff_semifl.data import data_errors
from tff_semifl.data import mapped_images
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.experiment import client_privacy
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import federated_data
from tff_semifl.experiment import filled_settings
from tff_semifl.experiment import image_task
from tff_semifl.experiment import run_settings
from tff_semifl.experiment import training_program
from tff_semifl.models import functional
from tff_semifl.privacy import privacy_key as privacy_key_lib

_EVALUATION_BATCH_SIZE = 500


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment(training_program.TrainingProgram):
  """Everything that a run needs, built but not trained.

  Attributes:
    settings: The settings, with all defaults filled in.
    identity: What identifies system, task and model besides their settings.
    run: The settings of the run, with all defaults filled in.
    task: The task.
    model: The Keras model, with initial weights.
    classifier: The model as pure functions.
    data: The images of server, clients and test.
    used_settings: The system's settings, by name, that were read while its
      process was built. A setting that an overridden hook ignores is missing.
    privacy_key: The secret key of a private run, or None.
  """

  settings: experiment_settings.ExperimentSettings
  identity: Mapping[str, Any]
  run: run_settings.RunSettings
  task: image_task.ImageTask
  model: tf.keras.Model
  classifier: functional.ImageClassifier
  data: federated_data.FederatedData
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

  With `by_index`, computations take indices of images, and read the images from
  a file on this machine: for a runtime whose worker is another process.
  `has_xla` says whether the runtime can compile with XLA.
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
    images = mapped_images.MappedImages(
      [data.labeled, data.unlabeled, data.test]
    )
    labeled, unlabeled, test = images.references
    data = data._replace(labeled=labeled, unlabeled=unlabeled, test=test)
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

  def build(*, jit_compile: bool) -> dict[str, Any]:
    chosen = settings_lib.change(settings, {'jit_compile': jit_compile})
    return build_computations(
      chosen, run, task, model, data, clients, privacy_key
    )

  compiles = has_xla and settings.model.compiles
  with (
    settings_lib.blame('sites', names, data_errors.DataError),
    settings_lib.record_reads() as reads,
  ):
    try:
      built = build(jit_compile=compiles)
    except settings_lib.SettingError as error:
      if error.name != 'jit_compile' or settings.model.jit_compile:
        raise
      logging.warning('Training is not compiled: %s', error.problem)
      built = build(jit_compile=False)
    else:
      if compiles:
        logging.info('XLA compiles training in round 1: a minute or two.')
  is_secret = privacy_key is not None and (
    settings.private_mean.insecure_fixed_privacy_key is None
  )
  experiment = Experiment(
    **built,
    clients=clients,
    settings=settings,
    identity=identity,
    run=run,
    task=task,
    model=model,
    data=data,
    used_settings={
      name: value for name, value in values.items() if name in reads
    },
    privacy_key=privacy_key if is_secret else None,
  )
  if images is None:
    return experiment
  return training_program.take_indices(experiment, images)


def build_computations(
  settings: experiment_settings.ExperimentSettings,
  run: run_settings.RunSettings,
  task: image_task.ImageTask,
  model: tf.keras.Model,
  data: federated_data.FederatedData,
  clients: pipelines.ClientPopulation,
  privacy_key: privacy_key_lib.PrivacyKey | None,
) -> dict[str, Any]:
  """Fields of an `Experiment`: classifier, process, datasets and evaluations.

  The settings must be filled in. `privacy_key` is the key of the noise.
  """
  system = settings.system
  measurement = settings.selection.create_measurement(
    run.metrics, task.class_names, data.test.labels
  )
  classifier = create_classifier(model, settings.model)
  statistics = settings.statistics
  measures_pseudo_labels = system.measures_pseudo_labels and bool(
    np.all(data.unlabeled.true_labels != sources.UNKNOWN_LABEL)
  )
  ingredients = system_lib.Ingredients(
    classifier=classifier,
    weak_augmentation=task.weak_augmentation,
    strong_augmentation=task.strong_augmentation,
    seed=settings.seed,
    privacy_key=privacy_key,
    computes_statistics=statistics is not None
    and statistics.are_computed_by_rounds(system),
    returns_given_labels=measures_pseudo_labels,
    jit_compile=settings.model.compiles,
  )
  with settings_lib.blame('jit_compile', True, rand_augment.NotCompiledError):
    process = system.build(ingredients)
  return {
    'classifier': classifier,
    'process': process,
    'evaluation': evaluation.build_evaluation(
      classifier, keeps_logits=bool(measurement)
    ),
    'server_dataset': pipelines.labeled_dataset(data.at_server(system.labels)),
    'test_dataset': pipelines.batched_dataset(
      data.test, _EVALUATION_BATCH_SIZE
    ),
    'validates': settings.validates,
    'total_rounds': system.total_rounds,
    'rounds_per_evaluation': run.rounds_per_evaluation,
    'measures_pseudo_labels': measures_pseudo_labels,
    'statistics': statistics
    and statistics.create_pass(
      system, classifier, data, clients, settings.server_batch_size
    ),
    'epsilon_fn': client_privacy.create_epsilon_fn(
      settings.private_mean, clients.num_clients, clients.clients_per_round
    ),
    'measure': measurement or None,
    'model_choice': settings.selection.create_choice(measurement),
  }


def create_classifier(
  model: tf.keras.Model, chosen: experiment_settings.ChosenModel
) -> functional.ImageClassifier:
  """The model as pure functions, in the chosen precision."""
  if chosen.compiles and chosen.train_in_bfloat16:
    # Found on an H200: "RET_CHECK failure ... f32[250,8,8,128] vs bf16[...]".
    raise settings_lib.SettingError(
      'jit_compile',
      True,
      'XLA of TensorFlow 2.14 fails on training in bfloat16 on a GPU; leave'
      ' jit_compile or train_in_bfloat16 out',
    )
  return functional.from_keras(
    model,
    train_in_bfloat16=chosen.train_in_bfloat16,
    jit_compile=chosen.compiles,
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
  """The task with the chosen augmentations; see `Model.create_task`."""
  task = data.weak.apply(create(data.task))
  return task if data.strong is None else data.strong.apply(task)


def load_data(
  data: experiment_settings.Data, task: image_task.ImageTask
) -> federated_data.FederatedData:
  """Loads a task's images and splits them among server and clients."""
  images = image_task.load(data.task, task)
  try:
    shared = data.duplicates.find_and_drop(
      images,
      lambda images: data.data_split.split(task, images, data.seed.seed),
      'validation' if data.validates else 'test',
    )
  except settings_lib.SettingError as error:
    if not isinstance(error.__cause__, data_errors.ClassError):
      raise
    raise settings_lib.SettingError(
      error.name, error.value, error.__cause__.with_names(task.class_names)
    ) from error
  return shared._replace(partition_notes=data.data_split.describe(shared))


def without_clients(experiment: Experiment) -> Experiment:
  """The experiment without clients, trained on the server's labels alone.

  The process and the server's steps stay. The name is the default name.
  """
  settings = settings_lib.change(experiment.settings, {'clients_per_round': 0})
  return dataclasses.replace(
    experiment,
    settings=settings,
    run=dataclasses.replace(
      experiment.run, experiment_name=settings.default_name
    ),
    clients=experiment.clients.with_clients_per_round(0),
    # Without clients there is no privacy to protect.
    privacy_key=None,
  )
