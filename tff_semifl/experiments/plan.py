# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The plan of an experiment: sizes, steps and settings, without running it."""

import numpy as np

from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.experiments import experiment_folder


def describe(experiment: experiment_lib.Experiment) -> dict[str, object]:
  """Returns what would be run, for JSON."""
  sizes = experiment.clients.num_images
  num_labeled = len(experiment.data.labeled.labels)
  steps = experiment.settings.system.count_steps(num_labeled, sizes)
  per_class = np.bincount(
    experiment.data.labeled.labels, minlength=experiment.task.num_classes
  )
  validates = experiment.settings.validates
  evaluated = 'validation_images' if validates else 'test_images'
  return {
    'data': experiment.task.data_description,
    'classes': experiment.task.num_classes,
    'image_shape': experiment.task.image_shape,
    'labeled_images': num_labeled,
    'labeled_images_per_class': {
      'least': int(per_class.min()),
      'most': int(per_class.max()),
    },
    'unlabeled_images': len(experiment.data.unlabeled.true_labels),
    'unlabeled_images_at_clients': sum(sizes),
    evaluated: len(experiment.data.test.labels),
    'clients': len(sizes),
    'clients_per_round': experiment.clients.clients_per_round,
    'images_per_client': {
      'least': min(sizes, default=0),
      'most': max(sizes, default=0),
    },
    'server_steps_per_round': steps.server,
    'steps_of_a_client_per_round_at_most': steps.client,
    'trainable_parameters': sum(
      int(np.prod(weight.shape))
      for weight in experiment.model.trainable_weights
    ),
    'flags': experiment_folder.recorded_settings(experiment),
  }
