# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD of FixMatch, and what SemiFL's authors ran for it (D55)."""

from collections.abc import Sequence
from typing import Any

from absl import flags
import tensorflow_federated as tff

from launch import aggregator_flags
from launch import augmentation_flags
from launch import data_flags
from launch import federated_data
from launch import fedsgd_flags
from launch import image_folder_flags
from launch import model_flags
from launch import program
from launch import run_flags
from launch import system
from launch import training_flags
from launch import worker_flags
from tasks import image_task
from tff_semifl.algorithms import fedsgd_fixmatch
from tff_semifl.algorithms import fedsgd_fixmatch_as_in_semifl
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.models import functional

flags.disclaim_key_flags()

_FLAGS = (
  data_flags,
  image_folder_flags,
  augmentation_flags,
  model_flags,
  training_flags,
  run_flags,
  worker_flags,
)
# There are no epochs within a round, and one optimizer.
_UNUSED_FLAGS = (
  training_flags.CLIENT_EPOCHS,
  training_flags.SERVER_EPOCHS,
  training_flags.KEEP_CLIENT_MOMENTUM,
  training_flags.KEEP_SERVER_MOMENTUM,
  training_flags.GLOBAL_MOMENTUM,
)


def _create_data(*args: Any, **kwargs: Any) -> federated_data.FederatedData:
  """Returns `federated_data.create_federated_data`, for steps of clients.

  Raises:
    program.FlagError: As there, or if there are fewer clients than in a step.
  """
  data = federated_data.create_federated_data(*args, **kwargs)
  with program.blame(fedsgd_flags.CLIENTS_PER_STEP, ValueError):
    if fedsgd_flags.CLIENTS_PER_STEP.value > len(data.shares):
      raise ValueError(
        f'there are {len(data.shares)} clients; a step can have at most as many'
      )
  return data


def _build_as_in_semifl(
  classifier: functional.ImageClassifier,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  task: image_task.ImageTask,
  aggregator: tff.aggregators.AggregationFactory,
) -> tff.templates.IterativeProcess:
  del aggregator  # Clients hand over images, not updates.
  return fedsgd_fixmatch_as_in_semifl.build_fedsgd_fixmatch_as_in_semifl(
    classifier,
    hyperparameters,
    weak_augmentation=task.weak_augmentation,
    strong_augmentation=task.strong_augmentation,
    clients_per_step=fedsgd_flags.CLIENTS_PER_STEP.value,
  )


def _least_steps(num_images: Sequence[int]) -> int:
  """Returns the steps of an epoch, if no step has fewer clients than asked."""
  size = training_flags.CLIENT_BATCH_SIZE.value
  num_batches = [-(-n // size) for n in num_images]
  cohorts = -(-sum(num_batches) // fedsgd_flags.CLIENTS_PER_STEP.value)
  return max([cohorts, *num_batches])


FEDSGD_FIXMATCH = system.System(
  name='fedsgd_fixmatch',
  flag_modules=(*_FLAGS, aggregator_flags),
  unused_flags=_UNUSED_FLAGS,
  build_process=system.build_from_task(fedsgd_fixmatch.build_fedsgd_fixmatch),
  measures_pseudo_labels=lambda: True,
  clients_know_turns=True,
  least_steps_per_round=lambda _: 1,
)
FEDSGD_FIXMATCH_AS_IN_SEMIFL = system.System(
  name='fedsgd_fixmatch_as_in_semifl',
  flag_modules=(*_FLAGS, fedsgd_flags),
  unused_flags=(
    *_UNUSED_FLAGS,
    training_flags.CLIENTS_PER_ROUND,
    worker_flags.MAX_CONCURRENT_CLIENTS,
  ),
  build_process=_build_as_in_semifl,
  measures_pseudo_labels=lambda: True,
  create_data=_create_data,
  all_clients_take_part=True,
  least_steps_per_round=_least_steps,
)
