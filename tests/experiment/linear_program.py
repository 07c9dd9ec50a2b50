# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""An experiment whose training takes milliseconds."""

import functools
import pathlib
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests import linear_reference
from tests import small_systems
from tff_semifl.core import client_states
from tff_semifl.core import evaluation
from tff_semifl.core import statistics_passes
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import statistics as statistics_lib
from tff_semifl.models import functional
from tff_semifl.models import static_batch_norm
from tff_semifl.privacy import privacy_key as privacy_key_lib

_THRESHOLD = 0.37
# Fields of an experiment that training does not use.
_UNUSED = (
  'settings',
  'run',
  'task',
  'model',
  'classifier',
  'data',
  'privacy_key',
)


def create_program(
  total_rounds: int,
  *,
  has_federated_statistics: bool = False,
  dropout_probability: float = 0.0,
  **changes: Any,
) -> experiment_lib.Experiment:
  """Creates an experiment of four clients with six images, two per round."""
  labels = (np.arange(30) % 3).astype(np.int32)
  data = sources.LabeledImages(linear_reference.create_images(30), labels)
  clients = pipelines.ClientPopulation(
    sources.ImagePool(*data.select(np.arange(6, 30))),
    np.split(np.arange(24), 4),
    clients_per_round=2,
    seed=0,
    dropout_probability=dropout_probability,
  )
  computations = _build_computations(has_federated_statistics, **changes)
  statistics = None
  if has_federated_statistics:
    statistics = statistics_lib.StatisticsPass(
      computations.federated_statistics, clients.all_datasets()
    )
  return experiment_lib.Experiment(
    **dict.fromkeys(_UNUSED),
    process=computations.process,
    evaluation=computations.evaluation,
    server_dataset=pipelines.labeled_dataset(data.select(np.arange(6))),
    clients=clients,
    test_dataset=pipelines.batched_dataset(data, 10),
    total_rounds=total_rounds,
    measures_pseudo_labels=True,
    statistics=statistics,
  )


class _Computations(NamedTuple):
  """The computations of an experiment, with optional statistics."""

  process: tff.templates.IterativeProcess
  evaluation: tff.Computation
  federated_statistics: tff.Computation | None = None


# Tracing takes longer than training.
@functools.cache
def _build_computations(has_federated_statistics, **changes) -> _Computations:
  classifier = linear_reference.create_classifier()
  if has_federated_statistics:
    classifier = _create_normalizing_classifier()
  computations = _Computations(
    process=small_systems.build(
      'semifl',
      {
        # The schedule covers the whole run, whenever training ends.
        'total_rounds': 4,
        'clients_per_round': 2,
        'server_batch_size': 2,
        'client_epochs': 1,
        'learning_rate': 0.3,
        'server_epochs': 1,
        'confidence_threshold': _THRESHOLD,
        **changes,
      },
      classifier=classifier,
      computes_statistics=False,
      returns_given_labels=True,
      privacy_key=privacy_key_lib.PrivacyKey(bytes(32)),
    ),
    evaluation=evaluation.build_evaluation(classifier),
  )
  if not has_federated_statistics:
    return computations
  return computations._replace(
    federated_statistics=(statistics_passes.build_federated_pass(classifier)),
  )


def create_memories(
  program: experiment_lib.Experiment, folder: str, *, num_kept: int
) -> client_states.ClientMemories | None:
  """Creates the store of clients' memories, if clients have memories."""
  if program.process.initialize_memory is None:
    return None
  return client_states.ClientMemories(
    pathlib.Path(folder, 'client_states'),
    program.process.initialize_memory,
    num_kept=num_kept,
  )


def _create_normalizing_classifier() -> functional.ImageClassifier:
  return functional.from_keras(
    tf.keras.Sequential(
      [
        tf.keras.Input(linear_reference.IMAGE_SHAPE),
        static_batch_norm.StaticBatchNormalization(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(
          linear_reference.NUM_CLASSES,
          kernel_initializer=tf.keras.initializers.RandomNormal(seed=0),
        ),
      ]
    )
  )
