# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""An experiment, built from its settings: data, process, evaluation."""

from collections.abc import Callable, Mapping
import dataclasses
import functools
from typing import Any

from absl import logging
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings as settings_lib
from tff_semifl.algorithms import system as system_lib
from tff_semifl.core import compiled_steps
from tff_semifl.core import evaluation
from tff_semifl.core import federated_process
from tff_semifl.data import data_errors
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.experiment import client_privacy
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import federated_data
from tff_semifl.experiment import filled_settings
from tff_semifl.experiment import image_task
from tff_semifl.experiment import model_selection
from tff_semifl.experiment import run_settings
from tff_semifl.experiment import statistics as statistics_lib
from tff_semifl.models import functional
from tff_semifl.privacy import privacy_key as privacy_key_lib

_CLIENT_TEST = 'client_test_fraction'
_EVALUATION_BATCH_SIZE = 500

# Logs a warning only once, even for experiments with several seeds.
_warn_once = functools.cache(logging.warning)
_Built = tuple[functional.ImageClassifier, federated_process.FederatedProcess]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
  """Everything that a run needs, built but not trained.

  All defaults of `settings` and `run` are filled in.

  Attributes:
    preparation_dataset: The server's features, for `process.preparations`; None
      if preparations take the server's images.
    validates: Whether `test_dataset` is a validation split; metrics are then
      named `validation/`.
    total_rounds: The number of the last round; numbers start at 0.
    measures_pseudo_labels: Whether the pseudo-labels of evaluated rounds are
      compared with the true labels, which must be known.
    epsilon_fn: Round -> epsilon after this round; None without privacy.
    measure: (logits of evaluated images) -> chosen metrics by name; or None.
  """

  settings: experiment_settings.ExperimentSettings
  run: run_settings.RunSettings
  task: image_task.ImageTask
  model: tf.keras.Model
  classifier: functional.ImageClassifier
  data: federated_data.FederatedData
  clients: pipelines.ClientPopulation
  privacy_key: privacy_key_lib.PrivacyKey | None
  process: federated_process.FederatedProcess
  evaluation: tff.Computation
  server_dataset: tf.data.Dataset
  test_dataset: tf.data.Dataset
  validates: bool = False
  total_rounds: int
  rounds_per_evaluation: int = 1
  measures_pseudo_labels: bool = False
  statistics: statistics_lib.StatisticsPass | None = None
  preparation_dataset: tf.data.Dataset | None = None
  epsilon_fn: Callable[[int], float] | None = None
  measure: Callable[[np.ndarray], Mapping[str, float]] | None = None
  model_choice: model_selection.ModelChoice | None = None

  def __repr__(self) -> str:
    """Lists system, data, model, labels, clients, rounds and folder."""
    settings, clients, at_clients = self.settings, self.clients, ''
    if settings.system.clients_have_labels:
      at_clients = f', at clients: {len(self.data.client_labels)}'
    return (
      f'{settings.system_name} on {settings.data.title}\n'
      f'model: {settings_lib.name_of(settings.model, "model")}\n'
      f'labels at the server: {len(self.data.labeled.labels)}{at_clients}\n'
      f'clients: {clients.num_clients}, in a round {clients.clients_per_round}'
      f'\nrounds: {self.total_rounds}\n'
      f'folder: {self.run.path}'
    )


def create_experiment(
  settings: experiment_settings.ExperimentSettings,
  run: run_settings.RunSettings,
) -> Experiment:
  """Loads the data and builds everything that a run needs."""
  task = settings.data.create_task(settings.model.model.create_task)
  create_model = functools.cache(functools.partial(settings.create_model, task))
  settings = filled_settings.fill_in(settings, task, create_model)
  run = run.fill_in(settings)
  data = settings.data.load(task)
  for line in data.equal_images:
    _warn_once('%s: %s', settings.task_name, line)
  _check_data(settings, run, data)
  system, private_mean = settings.system, settings.private_mean
  features = settings.label_features and settings.label_features.compute(data)
  key = private_mean and client_privacy.obtain_key(private_mean, run.path)
  with settings_lib.blame('clients_per_round', system.clients_per_round):
    clients = pipelines.ClientPopulation(
      data.unlabeled,
      data.shares,
      clients_per_round=len(data.shares)
      if system.all_clients_take_part
      else system.clients_per_round,
      # With privacy, the cohorts are as secret as the noise.
      seed=key.cohort_seed if key else settings.seed,
      dropout_probability=settings_lib.as_dict(system).get(
        'client_dropout_probability', 0.0
      ),
      labeled_clients=data.labeled_clients
      if system.clients_have_labels
      else None,
      know_participation=system.clients_know_participation,
      in_passes=system.cohorts_are_passes,
    )
  if features:
    clients = clients.with_features(features.unlabeled)
  model = create_model()
  measures_pseudo_labels = system.measures_pseudo_labels and bool(
    np.all(data.unlabeled.true_labels != sources.UNKNOWN_LABEL)
  )
  measurement = None
  if run.metrics or settings.selection.keep_best is not None:
    measurement = settings.selection.create_measurement(
      run.metrics, task.class_names, data.test.labels
    )
  with settings_lib.blame(
    'sites', settings.data.task.sites, data_errors.DataError
  ):
    classifier, process = build_process(
      settings,
      task,
      model,
      privacy_key=key,
      returns_given_labels=measures_pseudo_labels,
      num_features=features and features.labeled.shape[1],
      num_clients=clients.num_clients,
    )
    statistics = settings.statistics and settings.statistics.create_pass(
      system, classifier, data, clients
    )
  is_secret = private_mean and private_mean.insecure_fixed_privacy_key is None
  return Experiment(
    settings=settings,
    run=run,
    task=task,
    model=model,
    classifier=classifier,
    data=data,
    clients=clients,
    privacy_key=key if is_secret else None,
    process=process,
    evaluation=evaluation.build_evaluation(
      classifier, keeps_logits=bool(measurement)
    ),
    server_dataset=pipelines.labeled_dataset(data.at_server(system.labels)),
    preparation_dataset=features
    and pipelines.labeled_dataset(
      data.labeled._replace(images=features.labeled)
    ),
    test_dataset=pipelines.batched_dataset(data.test, _EVALUATION_BATCH_SIZE),
    validates=settings.validates,
    total_rounds=system.total_rounds,
    rounds_per_evaluation=run.rounds_per_evaluation,
    measures_pseudo_labels=measures_pseudo_labels,
    statistics=statistics,
    epsilon_fn=private_mean
    and client_privacy.create_epsilon_fn(
      private_mean, clients.num_clients, clients.clients_per_round
    ),
    measure=measurement or None,
    model_choice=None
    if measurement is None
    else settings.selection.create_choice(measurement),
  )


def _check_data(
  settings: experiment_settings.ExperimentSettings,
  run: run_settings.RunSettings,
  data: federated_data.FederatedData,
) -> None:
  part, system = settings.data.task, settings.system
  if not len(data.test.labels):
    raise settings_lib.SettingError(
      'task',
      part.reference,
      'has no test images; evaluate on labeled images by num_validation',
    )
  if run.client_accuracy and not data.measures_clients:
    name = 'client_accuracy' if data.client_test is None else _CLIENT_TEST
    raise settings_lib.SettingError(
      name,
      settings_lib.as_dict(settings).get(name, True),
      'no image of a client has a label to measure by; own_data takes'
      ' unlabeled_labels, and image_folder clients/<client>/labels.csv',
    )
  if part.sites and (system.gathers_images or system.labels.at_some_clients):
    raise settings_lib.SettingError(
      'sites',
      part.sites,
      f'{settings.system_name} needs images or labels of clients in one place',
    )
  name, value, reason = 'task', part.reference, None
  if system.labels.at_some_clients and not data.labeled_clients:
    reason = (
      'has no client with labels to train on; own_data takes a client as'
      ' (images, labels), and image_folder clients/<client>/<class>'
    )
  elif not (
    system.server_trains_alone
    or system.all_clients_take_part
    or system.clients_per_round
  ):
    name, value = 'clients_per_round', 0
    reason = 'nothing would be trained; this system needs clients in each round'
  elif system.server_has_labels and not len(data.labeled.labels):
    reason = f'has no labels at the server; {settings.system_name} needs some'
  if reason is not None:
    raise settings_lib.SettingError(name, value, reason)
  system.check_num_clients(len(data.shares))


def build_process(
  settings: experiment_settings.ExperimentSettings,
  task: image_task.ImageTask,
  model: tf.keras.Model,
  **others: Any,
) -> _Built:
  """Builds the model as pure functions, and the process that trains it.

  `jit_compile` decides whether XLA compiles both; the default is to compile on
  a GPU if possible. `others` are more fields of `Ingredients`.
  """
  chosen = settings.model
  if not chosen.compiles:
    return _build_once(settings, task, model, others, jit_compile=False)
  try:
    built = _build_once(settings, task, model, others, jit_compile=True)
  except settings_lib.SettingError as error:
    if error.name != 'jit_compile' or chosen.jit_compile:
      raise
    logging.warning('Training is not compiled: %s', error.problem)
    return _build_once(settings, task, model, others, jit_compile=False)
  logging.info('XLA compiles training in round 1: a minute or two.')
  return built


def _build_once(
  settings: experiment_settings.ExperimentSettings,
  task: image_task.ImageTask,
  model: tf.keras.Model,
  others: dict[str, Any],
  *,
  jit_compile: bool,
) -> _Built:
  system, statistics = settings.system, settings.statistics
  classifier = functional.from_keras(model, jit_compile=jit_compile)
  ingredients = system_lib.Ingredients(
    classifier=classifier,
    weak_augmentation=task.weak_augmentation,
    strong_augmentation=task.strong_augmentation,
    seed=settings.seed,
    computes_statistics=statistics is not None
    and statistics.are_computed_by_rounds(system),
    jit_compile=jit_compile,
    **others,
  )
  with settings_lib.blame('jit_compile', True, compiled_steps.NotCompiledError):
    return classifier, system.build(ingredients)
