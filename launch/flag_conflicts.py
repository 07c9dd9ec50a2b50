# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Flags of a training program that cannot be together."""

from absl import flags

from launch import aggregator_flags
from launch import model_flags
from launch import models
from launch import program
from launch import run_flags
from launch import system as system_lib
from launch import training_flags


def check(system: system_lib.System) -> None:
  """Raises a FlagError if flags, once parsed, contradict each other.

  Args:
    system: What is to be trained.
  """
  with program.blame(model_flags.JIT_COMPILE, ValueError):
    if model_flags.JIT_COMPILE.value and run_flags.RUNTIME.value == 'native':
      raise ValueError(
        "TFF's worker has no XLA; use --runtime=in_process or leave it out"
      )
  statistics = training_flags.BATCH_NORM_STATISTICS.value
  with program.blame(training_flags.BATCH_NORM_STATISTICS, ValueError):
    if system.clients_have_labels and (
      statistics in ('server', 'server_batches')
    ):
      raise ValueError('the server has no images; use federated or pooled')
    if not system.has_clients and statistics in ('federated', 'pooled'):
      raise ValueError(
        f'launch.train_{system.name} has no clients; use server or'
        ' server_batches'
      )
  with program.blame(training_flags.REPRODUCE_FINAL_TEST, ValueError):
    if training_flags.REPRODUCE_FINAL_TEST.value and not (
      model_flags.NORMALIZATION.value == 'static_batch'
      and models.has_normalization()
    ):
      raise ValueError(
        'without static batch normalisation there are no statistics; leave it'
        ' out'
      )
  with program.blame(run_flags.ROUNDS_PER_EVALUATION, ValueError):
    if training_flags.KEEP_CLIENT_MOMENTUM.value and (
      run_flags.ROUNDS_PER_EVALUATION.value > 1
    ):
      raise ValueError(
        "clients' momentum is kept for each round; leave this out, or"
        ' --keep_client_momentum'
      )
  with program.blame(model_flags.MODEL, ValueError):
    if system.models and model_flags.MODEL.value not in system.models:
      raise ValueError(
        f'launch.train_{system.name} trains {" or ".join(system.models)}'
      )
    if models.has_dropout() and not system.takes_dropout:
      raise ValueError(
        f'launch.train_{system.name} gives dropout no random numbers; choose a'
        ' model without'
      )
  with program.blame(model_flags.NORMALIZATION, ValueError):
    if (
      not models.has_normalization()
      and flags.FLAGS[model_flags.NORMALIZATION.name].present
    ):
      raise ValueError(
        f'--model={model_flags.MODEL.value} normalises nothing; leave it out'
      )
  with program.blame(aggregator_flags.AGGREGATOR, ValueError):
    if (
      aggregator_flags.AGGREGATOR.value == 'differential_privacy'
      and not system.uses(aggregator_flags.NOISE_MULTIPLIER)
    ):
      raise ValueError(
        f'launch.train_{system.name} weighs its updates, which is not private;'
        ' choose another'
      )
    if (
      aggregator_flags.AGGREGATOR.value == 'differential_privacy'
      and system.clients_know_turns
    ):
      raise ValueError(
        f'in launch.train_{system.name} the images that a client trains on'
        ' depend on how often it took part before, which is secret, and epsilon'
        ' is not computed for that; choose another'
      )
