# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Data and process of `client_priors`, without an experiment's folder."""

from typing import Any

import numpy as np
from sklearn import datasets

import tff_semifl as sfl
from tff_semifl.algorithms import system
from tff_semifl.algorithms.client_priors import choice
from tff_semifl.algorithms.client_priors import client_priors
from tff_semifl.algorithms.client_priors import server_steps
from tff_semifl.augment import augmentation
from tff_semifl.core import federated_process
from tff_semifl.data import pipelines
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import federated_data
from tff_semifl.experiment import image_task
from tff_semifl.experiment import own_data
from tff_semifl.experiment import system_registry
from tff_semifl.experiment import task_registry
from tff_semifl.models import features as feature_models
from tff_semifl.models import functional

PARTITIONS = {
  **{
    f'classes{k}': {'partition': 'classes', 'classes_per_client': k}
    for k in (2, 5)
  },
  **{
    f'dirichlet{a}': {'partition': 'dirichlet', 'dirichlet_concentration': a}
    for a in (0.1, 0.2, 0.3, 0.5)
  },
  'iid': {'partition': 'iid'},
}
Process = federated_process.FederatedProcess


def create_digits() -> image_task.Task:
  """Pixels of digits as feature vectors, split as in the task `digits`."""
  found = datasets.load_digits()
  is_test = np.arange(len(found.target)) % 5 == 0
  task = sfl.own_data(
    (found.data[~is_test], found.target[~is_test]),
    (found.data[is_test], found.target[is_test]),
    num_labeled=10,
  )
  return own_data.create_part(task)


def load(
  task: image_task.Task, changes: dict[str, Any]
) -> federated_data.FederatedData:
  """Partitions a task's examples as an experiment with these settings does."""
  chosen = experiment_settings.create(
    'client_priors',
    system_registry.load('client_priors'),
    task_registry.ChosenTask(task=task),
    changes,
  )
  created = chosen.data.create_task()
  return chosen.data.fill_in(created).load(created)


def build(
  image_shape: tuple[int], num_classes: int, keep: str = choice.CHOSEN
) -> Process:
  """Builds the process for feature vectors of a shape."""
  model = feature_models.create_linear(
    image_shape,
    num_classes,
    mean=[0.0] * image_shape[0],
    standard_deviation=[1.0] * image_shape[0],
  )
  return client_priors.ClientPriors(keep=keep).build(
    system.Ingredients(
      classifier=functional.from_keras(model),
      weak_augmentation=augmentation.keep,
      strong_augmentation=augmentation.keep,
    )
  )


def measure(
  process: Process,
  data: federated_data.FederatedData,
  shares: list[np.ndarray],
) -> tuple[Any, federated_process.RoundOutput]:
  """The state after round 0, and the result of the last round."""
  clients = pipelines.ClientPopulation(
    data.unlabeled, shares, clients_per_round=len(shares), seed=0
  )
  server = pipelines.labeled_dataset(data.labeled)
  first = process.next(process.initialize(), server, []).state
  state = process.preparations[0](first, server, clients.all_datasets())
  for round_num in range(1, server_steps.PASSES + 1):
    output = process.next(state, server, clients.datasets(round_num))
    state = output.state
  return first, output
