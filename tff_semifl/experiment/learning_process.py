# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Builds the learning process of an experiment, compiled by XLA or not."""

from typing import Any

from absl import logging
import tensorflow as tf

from tff_semifl import settings as settings_lib
from tff_semifl.algorithms import system as system_lib
from tff_semifl.augment import rand_augment
from tff_semifl.core import federated_process
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import image_task
from tff_semifl.models import functional

_Built = tuple[functional.ImageClassifier, federated_process.FederatedProcess]


def build(
  settings: experiment_settings.ExperimentSettings,
  task: image_task.ImageTask,
  model: tf.keras.Model,
  **others: Any,
) -> _Built:
  """The model as pure functions, and the process that trains the model.

  XLA compiles both if possible or if the settings demand it. `others` are more
  fields of `Ingredients`.
  """
  chosen = settings.model
  if not chosen.compiles:
    return _build(settings, task, model, others, jit_compile=False)
  try:
    built = _build(settings, task, model, others, jit_compile=True)
  except settings_lib.SettingError as error:
    if error.name != 'jit_compile' or chosen.jit_compile:
      raise
    logging.warning('Training is not compiled: %s', error.problem)
    return _build(settings, task, model, others, jit_compile=False)
  logging.info('XLA compiles training in round 1: a minute or two.')
  return built


def _build(
  settings: experiment_settings.ExperimentSettings,
  task: image_task.ImageTask,
  model: tf.keras.Model,
  others: dict[str, Any],
  *,
  jit_compile: bool,
) -> _Built:
  system, statistics = settings.system, settings.statistics
  classifier = create_classifier(
    model, settings_lib.change(settings.model, {'jit_compile': jit_compile})
  )
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
  with settings_lib.blame('jit_compile', True, rand_augment.NotCompiledError):
    return classifier, system.build(ingredients)


def create_classifier(
  model: tf.keras.Model, chosen: experiment_settings.ChosenModel
) -> functional.ImageClassifier:
  """The model as pure functions, compiled if chosen."""
  return functional.from_keras(model, jit_compile=chosen.compiles)
