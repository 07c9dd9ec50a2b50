# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The folder of an experiment, as if it had been run."""

import asyncio
import pathlib
from typing import NamedTuple

from absl.testing import flagsaver
import numpy as np
import tensorflow as tf

from launch import chosen_task
from launch import experiment as experiment_lib
from launch import models
from launch import settings as settings_lib
from launch import systems
from tff_semifl.models import functional
from tff_semifl.programs import training


class _State(NamedTuple):
  """What the state of any process begins with."""

  global_model_weights: functional.ModelWeights


def save(
  folder: pathlib.Path, *, round_num: int = 2, **flag_values: object
) -> tf.keras.Model:
  """Writes an experiment with a checkpoint.

  Args:
    folder: `<output_dir>/<experiment_name>`.
    round_num: The round of the checkpoint.
    **flag_values: Flags that the experiment was given; those that are None
      were not.

  Returns:
    The model whose weights are in the checkpoint.
  """
  values = {
    'model_width': 1,
    'total_rounds': 2,
    'output_dir': folder.parent,
    'experiment_name': folder.name,
  } | flag_values
  given = {name: str(v) for name, v in values.items() if v is not None}
  with flagsaver.as_parsed(**given):
    settings = settings_lib.resolve(systems.SEMIFL)
    opened = experiment_lib.open_folder(systems.SEMIFL, settings)
    model = models.create_model(chosen_task.create_task(), settings)
  generator = np.random.default_rng(round_num)
  for weight in model.weights:
    weight.assign(weight + generator.uniform(0, 0.1, size=weight.shape))
  weights = functional.from_keras(model).initial_weights
  state = training.ProgramState(_State(weights), round_num, 0.25, 0.5)
  asyncio.run(opened.state_manager().save(state, round_num))
  return model
