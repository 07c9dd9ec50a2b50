# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The parts of the benchmark's systems around what users do."""

import functools

import tensorflow_federated as tff

from tff_semifl.algorithms import benchmark_hyperparameters
from tff_semifl.algorithms import group_averaging
from tff_semifl.augment import augmentation
from tff_semifl.models import functional
from tff_semifl.work import client_work
from tff_semifl.work import labelled_steps
from tff_semifl.work import local_steps
from tff_semifl.work import replicated_server_work


def build_group_parts(
  classifier: functional.ImageClassifier,
  local_training_fn: client_work.LocalTrainingFn,
  hyperparameters: benchmark_hyperparameters.BenchmarkHyperparameters,
  *,
  steps: local_steps.LocalSteps,
  weak_augmentation: augmentation.Augmentation,
  client_data_type: tff.SequenceType | None = None,
) -> group_averaging.GroupParts:
  """Builds what all systems of the benchmark are made of.

  Args:
    classifier: The model.
    local_training_fn: What a user does in a round.
    hyperparameters: The numbers.
    steps: Of these, how the server trains.
    weak_augmentation: For the server's images.
    client_data_type: What users have. By default images without labels.
  """
  return group_averaging.GroupParts(
    classifier=classifier,
    seed=hyperparameters.seed,
    learning_rate_fn=steps.last_learning_rate,
    client_work=client_work.build_client_work(
      classifier,
      local_training_fn,
      data_type=client_data_type,
      optimizer=steps.optimizer,
      keep_optimizer_state=True,
      max_update_norm_ratio=hyperparameters.max_update_norm_ratio,
      return_given_labels=hyperparameters.return_given_labels,
    ),
    server_work=replicated_server_work.build_replicated_server_work(
      classifier,
      functools.partial(
        labelled_steps.train_on_labels,
        classifier,
        weak_augmentation=weak_augmentation,
        steps=steps,
      ),
      optimizer=steps.optimizer,
      num_replicas=hyperparameters.num_groups,
    ),
    num_groups=hyperparameters.num_groups,
    clients_per_round=hyperparameters.clients_per_round,
  )
