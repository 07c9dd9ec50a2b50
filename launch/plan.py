# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What an experiment would do, without doing it."""

from collections.abc import Sequence
import math

import numpy as np

from launch import experiment as experiment_lib
from launch import settings as settings_lib
from launch import training_flags


def describe(experiment: experiment_lib.Experiment) -> dict[str, object]:
  """Says what would be run: sizes, steps, parameters, flags."""
  settings = experiment.settings
  sizes = experiment.clients.num_images
  per_class = np.bincount(
    experiment.data.labelled.labels, minlength=experiment.task.num_classes
  )
  return {
    'data': experiment.task.data_description,
    'classes': experiment.task.num_classes,
    'image_shape': experiment.task.image_shape,
    'labelled_images': len(experiment.data.labelled.labels),
    'labelled_images_per_class': {
      'least': int(per_class.min()),
      'most': int(per_class.max()),
    },
    'unlabelled_images': len(experiment.data.unlabelled.labels),
    'unlabelled_images_at_clients': sum(sizes),
    'test_images': len(experiment.data.test.labels),
    'clients': len(sizes),
    'clients_per_round': experiment.clients.clients_per_round,
    'images_per_client': {
      'least': min(sizes, default=0),
      'most': max(sizes, default=0),
    },
    'server_steps_per_round': _count_steps(
      experiment,
      sizes,
      len(experiment.data.labelled.labels),
      settings.server_batch_size,
      settings.server_epochs,
    ),
    'steps_of_a_client_per_round_at_most': _count_steps(
      experiment,
      [max(sizes, default=0)],
      max(sizes, default=0),
      training_flags.CLIENT_BATCH_SIZE.value,
      training_flags.CLIENT_EPOCHS.value,
    ),
    'trainable_parameters': sum(
      int(np.prod(weight.shape))
      for weight in experiment.model.trainable_weights
    ),
    'flags': settings_lib.all_flags(experiment.system, settings),
  }


def _count_steps(
  experiment: experiment_lib.Experiment,
  client_sizes: Sequence[int],
  num_images: int,
  batch_size: int,
  num_epochs: float,
) -> int:
  least_steps = experiment.system.least_steps_per_round
  if least_steps is not None:
    return least_steps(client_sizes) if num_images else 0
  return count_steps(num_images, batch_size, num_epochs)


def count_steps(num_images: int, batch_size: int, num_epochs: float) -> int:
  """Returns the steps of some epochs, as `training_loop.train` takes them."""
  num_batches = math.ceil(num_images / batch_size)
  if num_epochs < 1:
    return math.ceil(num_epochs * num_batches)
  return math.ceil(num_epochs) * num_batches
