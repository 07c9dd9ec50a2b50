# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Creates the folder of an experiment, as after a run."""

import os
import pathlib
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tff_semifl import settings as settings_lib
from tff_semifl.cli import commands
from tff_semifl.experiment import checkpoints
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import filled_settings
from tff_semifl.experiment import training
from tff_semifl.models import functional


class _State(NamedTuple):
  """The first fields of the state of any process."""

  global_model_weights: functional.ModelWeights


def save(
  folder: pathlib.Path,
  *,
  round_num: int = 2,
  **changes: object,
) -> tf.keras.Model:
  """Writes an experiment with a checkpoint."""
  values = {
    'model_width': 1,
    'total_rounds': 2,
    'output_dir': folder.parent,
    'experiment_name': folder.name,
  } | changes
  command = commands.create(
    'semifl',
    {
      name: os.fspath(value) if isinstance(value, os.PathLike) else value
      for name, value in values.items()
      if value is not None
    },
  )
  task = command.experiment.data.create_task()
  settings = filled_settings.fill_in(command.experiment, task)
  run = command.run.fill_in(settings)
  opened = experiment_folder.take_folder(
    settings,
    run,
    task,
    {
      **experiment_folder.record(settings, run),
      **settings_lib.as_dict(command.runtime),
    },
  )
  model = settings.model.model.create(task, settings.seed)
  generator = np.random.default_rng(round_num)
  for weight in model.weights:
    weight.assign(weight + generator.uniform(0, 0.1, size=weight.shape))
  kinds = functional.find_weights(model)
  weights = functional.ModelWeights(
    tuple(weight.numpy() for weight in kinds.trainable),
    tuple(weight.numpy() for weight in kinds.statistics),
  )
  if kinds.frozen:
    checkpoints.keep_frozen_weights(
      opened.path, [weight.numpy() for weight in kinds.frozen]
    )
  state = training.ProgramState(_State(weights), round_num, 0.25, 0.5)
  opened.checkpoints().save(state, round_num)
  return model
