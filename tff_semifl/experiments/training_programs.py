# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The training program of an experiment: process, data and evaluations."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.augment import rand_augment
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.experiments import client_privacy
from tff_semifl.experiments import experiment_settings
from tff_semifl.experiments import federated_data
from tff_semifl.experiments import image_task
from tff_semifl.models import functional
from tff_semifl.privacy import privacy_key as privacy_key_lib
from tff_semifl.runs import training_program
from tff_semifl.systems import system as system_lib
from tff_semifl.training import evaluation

_EVALUATION_BATCH_SIZE = 500


def create_classifier(
  model: tf.keras.Model, chosen: experiment_settings.ChosenModel
) -> functional.ImageClassifier:
  """Pure functions of a model, in the chosen precision.

  Raises:
    settings.SettingError: The precision cannot be compiled.
  """
  if chosen.compiles and chosen.train_in_bfloat16:
    # Found on an H200: "RET_CHECK failure ... f32[250,8,8,128] vs bf16[...]".
    raise settings.SettingError(
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


def create_training_program(
  experiment: experiment_settings.ExperimentSettings,
  task: image_task.ImageTask,
  classifier: functional.ImageClassifier,
  data: federated_data.FederatedData,
  clients: pipelines.ClientPopulation,
  privacy_key: privacy_key_lib.PrivacyKey | None,
  rounds_per_evaluation: int,
  metrics: Sequence[str] = (),
) -> training_program.TrainingProgram:
  """Builds the process, the datasets and the evaluations of a run.

  Args:
    experiment: The settings, filled in.
    task: The task.
    classifier: The model, with initial weights.
    data: The split images.
    clients: The clients.
    privacy_key: The key of the noise, or None without privacy.
    rounds_per_evaluation: As in `TrainingProgram`.
    metrics: Names of further metrics.

  Raises:
    settings.SettingError: If there is no such metric.
  """
  selection = experiment.selection
  measurement = selection.create_measurement(
    metrics, task.class_names, data.test.labels
  )
  system = experiment.system
  with_statistics = experiment.statistics
  with_final_test = experiment.final_test
  measures_pseudo_labels = system.measures_pseudo_labels and bool(
    np.all(data.unlabeled.true_labels != sources.UNKNOWN_LABEL)
  )
  ingredients = system_lib.Ingredients(
    classifier=classifier,
    weak_augmentation=task.weak_augmentation,
    strong_augmentation=task.strong_augmentation,
    seed=experiment.seed,
    privacy_key=privacy_key,
    computes_statistics=with_statistics is not None
    and with_statistics.are_computed_by_rounds(system),
    returns_given_labels=measures_pseudo_labels,
    jit_compile=experiment.model.compiles,
  )
  with settings.blame('jit_compile', True, rand_augment.NotCompiledError):
    process = system.build(ingredients)
  return training_program.TrainingProgram(
    process=process,
    evaluation=evaluation.build_evaluation_with_logits(classifier)
    if measurement
    else evaluation.build_evaluation(classifier),
    server_dataset=pipelines.labeled_dataset(data.at_server(system.labels)),
    clients=clients,
    test_dataset=pipelines.batched_dataset(data.test, _EVALUATION_BATCH_SIZE),
    validates=experiment.validates,
    total_rounds=system.total_rounds,
    rounds_per_evaluation=rounds_per_evaluation,
    measures_pseudo_labels=measures_pseudo_labels,
    statistics=with_statistics
    and with_statistics.create_pass(
      system, classifier, data, clients, experiment.server_batch_size
    ),
    final_test=with_final_test
    and with_final_test.create_pass(
      classifier, data, experiment.server_batch_size
    ),
    epsilon_fn=client_privacy.create_epsilon_fn(
      experiment.private_mean, clients.num_clients, clients.clients_per_round
    ),
    measure=measurement or None,
    model_choice=selection.create_choice(measurement),
  )
