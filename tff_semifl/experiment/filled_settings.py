# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Fills in and checks settings that depend on other settings."""

from collections.abc import Callable
import dataclasses
import math

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import system as system_lib
from tff_semifl.algorithms import training_settings
from tff_semifl.core import batch_norm_statistics
from tff_semifl.experiment import client_privacy
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import image_task
from tff_semifl.experiment import local_runtime
from tff_semifl.experiment import model_selection
from tff_semifl.models import functional

# The rule in SemiFL's code when the paper was published.
_FEW_LABELS = 250
_SMALL_BATCH, _LARGE_BATCH = 10, 250


def fill_in(
  experiment: experiment_settings.ExperimentSettings,
  task: image_task.ImageTask,
  create_model: Callable[[], tf.keras.Model] | None = None,
) -> experiment_settings.ExperimentSettings:
  """Fills in all defaults that depend on other settings.

  `create_model`, by default from the settings, is called only if the model
  itself has to be inspected.
  """
  _check_model(experiment, task)
  if experiment.private_mean is not None:
    client_privacy.check(experiment)
  if experiment.selection != model_selection.ModelSelection():
    experiment.selection.check(
      validates=experiment.validates,
      can_validate='num_validation' in settings.as_dict(experiment.data),
    )
  data = experiment.data.fill_in(task)
  system = experiment.system
  if system.clients_per_round is None and not system.all_clients_take_part:
    shares = image_task.load(data.task, task).shares
    if shares is None:
      raise settings.SettingError(
        'clients_per_round',
        None,
        'the task does not say which client has which images; give a number',
      )
    number = min(len(shares), training_settings.SEMIFL['clients_per_round'])
    system = settings.change(system, {'clients_per_round': number})
  system = _fill_in_batches(system, data, task)
  model = experiment.model.model
  are_there = model.has_static_batch_norm
  if are_there is None:
    create_model = create_model or (lambda: experiment.create_model(task))
    are_there = bool(functional.find_weights(create_model()).statistics)
  statistics = experiment.statistics
  if statistics is not None:
    statistics = statistics.fill_in(system, are_there=are_there)
    if experiment.private_mean is not None:
      client_privacy.check_statistics(statistics.batch_norm_statistics)
  return dataclasses.replace(
    experiment,
    data=data,
    system=system,
    model=settings.fill_in(
      experiment.model,
      {'model_depth': task.model_depth, 'model_width': task.model_width},
    ),
    statistics=statistics,
  )


def count_batch_pixels(
  experiment: experiment_settings.ExperimentSettings, task: image_task.ImageTask
) -> local_runtime.BatchPixels:
  """Counts the pixels of the largest training and inference batches.

  Batch sizes come from settings named `*batch_size`: names with `server` in
  front are the server's. Training batches count as infinite without clients, or
  if a batch size is unknown. Neither data nor model is loaded.
  """
  system = _fill_in_batches(
    experiment.system, experiment.data.fill_in(task), task
  )
  of_server, of_clients = [], []
  for name, size in settings.as_dict(system).items():
    if name.endswith('batch_size'):
      group = of_server if name.startswith('server') else of_clients
      group.append(math.inf if size is None else size)
  if not system.labels.has_clients or math.inf in of_server + of_clients:
    of_server = of_clients = [math.inf]
  # A feature vector counts as one pixel.
  num_pixels = math.prod(task.image_shape[:-1])
  return local_runtime.BatchPixels(
    num_pixels * max(of_clients, default=0),
    num_pixels * max(of_server, default=0),
    num_pixels * batch_norm_statistics.BATCH_SIZE,
  )


def _fill_in_batches(
  system: system_lib.System,
  data: experiment_settings.Data,
  task: image_task.ImageTask,
) -> system_lib.System:
  num_labeled = settings.as_dict(data).get('num_labeled', task.num_labeled)
  is_small = (
    system.labels is not system_lib.Labels.ALL_AT_SERVER
    and num_labeled is not None
    and num_labeled <= _FEW_LABELS
  )
  return settings.fill_in(
    system, {'server_batch_size': _SMALL_BATCH if is_small else _LARGE_BATCH}
  )


def _check_model(
  experiment: experiment_settings.ExperimentSettings, task: image_task.ImageTask
) -> None:
  name = settings.name_of(experiment.model, 'model')
  system = experiment.system
  trained = experiment.model.model.trained or name
  if system.models and trained not in system.models:
    raise settings.SettingError(
      'model',
      name,
      f'{experiment.system_name} trains {" or ".join(system.models)}',
    )
  with settings.blame('model', name):
    experiment.model.model.check_takes(task)
