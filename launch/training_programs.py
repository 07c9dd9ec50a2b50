# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The training program of an experiment: process, data and evaluations."""

import dataclasses

import numpy as np
import tensorflow as tf

from launch import aggregator_flags
from launch import chosen_aggregator
from launch import federated_data
from launch import model_flags
from launch import run_flags
from launch import settings as settings_lib
from launch import system as system_lib
from launch import training_flags
from tasks import image_task
from tff_semifl import optimizers
from tff_semifl import privacy_key as privacy_key_lib
from tff_semifl.algorithms import evaluation
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.models import functional
from tff_semifl.programs import training
from tff_semifl.work import batch_norm_statistics
from tff_semifl.work import federated_batch_norm_statistics
from tff_semifl.work import pooled_batch_norm_statistics

_EVALUATION_BATCH_SIZE = 500


def create_training_program(
  system: system_lib.System,
  settings: settings_lib.Settings,
  task: image_task.ImageTask,
  model: tf.keras.Model,
  data: federated_data.FederatedData,
  clients: pipelines.ClientPopulation,
  privacy_key: privacy_key_lib.PrivacyKey | None,
) -> training.TrainingProgram:
  """Puts together what is to be run.

  Args:
    system: What is to be trained.
    settings: The flags.
    task: What is learned.
    model: The model, with initial weights.
    data: Who has which images.
    clients: The clients.
    privacy_key: What noise follows from, or None if there is none.
  """
  classifier = functional.from_keras(
    model,
    train_in_bfloat16=model_flags.TRAIN_IN_BFLOAT16.value,
    jit_compile=model_flags.JIT_COMPILE.value,
  )
  measures_pseudo_labels = system.measures_pseudo_labels() and bool(
    np.all(data.unlabelled.labels != sources.UNKNOWN_LABEL)
  )
  return training.TrainingProgram(
    process=system.build_process(
      classifier,
      dataclasses.replace(
        _hyperparameters(system, settings),
        return_given_labels=measures_pseudo_labels,
      ),
      task,
      chosen_aggregator.create_aggregator(
        settings.aggregation, settings.clients_per_round, privacy_key
      ),
    ),
    evaluation=evaluation.build_evaluation(classifier),
    server_dataset=pipelines.labelled_dataset(data.labelled),
    clients=clients,
    test_dataset=pipelines.batched_dataset(data.test, _EVALUATION_BATCH_SIZE),
    total_rounds=settings.total_rounds,
    rounds_per_evaluation=run_flags.ROUNDS_PER_EVALUATION.value,
    measures_pseudo_labels=measures_pseudo_labels,
    statistics=_create_statistics_pass(
      system, settings, classifier, data, clients
    ),
    final_test=_create_final_test(settings, classifier, data),
    epsilon_fn=chosen_aggregator.create_epsilon_fn(
      settings.aggregation, clients.num_clients, settings.clients_per_round
    ),
  )


def _hyperparameters(
  system: system_lib.System,
  settings: settings_lib.Settings,
) -> hyperparameters_lib.Hyperparameters:
  flags = training_flags
  return hyperparameters_lib.Hyperparameters(
    total_rounds=settings.total_rounds,
    server_batch_size=settings.server_batch_size,
    seed=settings.seed,
    client_epochs=flags.CLIENT_EPOCHS.value,
    server_epochs=settings.server_epochs,
    client_batch_size=flags.CLIENT_BATCH_SIZE.value,
    confidence_threshold=flags.CONFIDENCE_THRESHOLD.value,
    learning_rate=flags.LEARNING_RATE.value,
    optimizer=optimizers.build_nesterov_sgd(
      momentum=flags.MOMENTUM.value,
      weight_decay=flags.WEIGHT_DECAY.value,
      clip_norm=flags.CLIP_NORM.value,
    ),
    global_momentum=flags.GLOBAL_MOMENTUM.value,
    keep_server_momentum=flags.KEEP_SERVER_MOMENTUM.value,
    keep_client_momentum=flags.KEEP_CLIENT_MOMENTUM.value,
    max_update_norm_ratio=aggregator_flags.MAX_UPDATE_NORM_RATIO.value,
    server_statistics=settings.batch_norm_statistics == 'server'
    and not _only_evaluations_need_statistics(system),
  )


def _only_evaluations_need_statistics(system: system_lib.System) -> bool:
  """Whether rounds without an evaluation can do without statistics."""
  return not system.labels_by_global_model and system.uses(
    training_flags.BATCH_NORM_STATISTICS
  )


def _create_statistics_pass(
  system: system_lib.System,
  settings: settings_lib.Settings,
  classifier: functional.ImageClassifier,
  data: federated_data.FederatedData,
  clients: pipelines.ClientPopulation,
) -> training.StatisticsPass | None:
  """Returns what computes statistics, unless the process itself does."""
  for_clients = system.labels_by_global_model
  if settings.batch_norm_statistics == 'federated':
    return training.StatisticsPass(
      federated_batch_norm_statistics.build_federated_batch_norm_statistics(
        classifier
      ),
      clients.all_datasets(),
      for_clients=for_clients,
    )
  if settings.batch_norm_statistics == 'pooled':
    return training.StatisticsPass(
      pooled_batch_norm_statistics.build_pooled_batch_norm_statistics(
        classifier
      ),
      # Images that no client was given are among them too.
      _class_by_class(data).concatenate(
        tf.data.Dataset.from_tensors(data.unlabelled.images)
      ),
      for_clients=for_clients,
    )
  if settings.batch_norm_statistics == 'server_batches':
    return training.StatisticsPass(
      pooled_batch_norm_statistics.build_pooled_batch_norm_statistics(
        classifier,
        batch_size=batch_norm_statistics.STATISTICS_BATCH_SIZE
        if system.has_clients
        else settings.server_batch_size,
      ),
      # It is the choice of some that leaves them class by class (D.1).
      tf.data.Dataset.from_tensors(data.labelled.images)
      if settings.num_labeled is None
      else _class_by_class(data),
      for_clients=for_clients,
    )
  if settings.batch_norm_statistics == 'server' and (
    _only_evaluations_need_statistics(system)
  ):
    return training.StatisticsPass(
      batch_norm_statistics.build_server_batch_norm_statistics(classifier),
      pipelines.labelled_dataset(data.labelled),
      for_clients=for_clients,
    )
  return None


def _class_by_class(data: federated_data.FederatedData) -> tf.data.Dataset:
  """Returns the labelled images as the authors' label split has them (A.5)."""
  order = np.argsort(data.labelled.labels, kind='stable')
  return tf.data.Dataset.from_tensors(data.labelled.images[order])


def _create_final_test(
  settings: settings_lib.Settings,
  classifier: functional.ImageClassifier,
  data: federated_data.FederatedData,
) -> training.StatisticsPass | None:
  """Returns the statistics of the authors' final test, if asked for (D11)."""
  if not training_flags.REPRODUCE_FINAL_TEST.value:
    return None
  images = np.concatenate([data.labelled.images, data.unlabelled.images])
  if data.training_order is not None:
    images = images[data.training_order]
  return training.StatisticsPass(
    pooled_batch_norm_statistics.build_pooled_batch_norm_statistics(
      classifier, batch_size=settings.server_batch_size
    ),
    tf.data.Dataset.from_tensors(images),
  )
