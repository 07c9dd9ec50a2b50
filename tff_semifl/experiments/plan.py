# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The plan of an experiment: sizes, steps and settings, without running it."""

import math

import numpy as np

from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiments import before_training
from tff_semifl.experiments import evaluated_images
from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.experiments import experiment_folder
from tff_semifl.systems import system


def describe(experiment: experiment_lib.Experiment) -> dict[str, object]:
  """What would be run, as a value for JSON."""
  num_labeled = len(experiment.data.labeled.labels)
  sizes = experiment.clients.num_images
  steps = experiment.settings.system.count_steps(num_labeled, sizes)
  per_class = np.bincount(
    experiment.data.labeled.labels, minlength=experiment.task.num_classes
  )
  validates = experiment.settings.validates
  evaluated = 'validation_images' if validates else 'test_images'
  evaluated_sizes = evaluated_images.count_by_class(experiment)
  return {
    'data': experiment.task.data_description,
    'classes': experiment.task.num_classes,
    'image_shape': experiment.task.image_shape,
    'labeled_images': num_labeled,
    'labeled_images_per_class': {
      'least': int(per_class.min()),
      'most': int(per_class.max()),
    },
    evaluated: int(evaluated_sizes.sum()),
    f'{evaluated}_per_class': {
      'least': int(evaluated_sizes.min()),
      'most': int(evaluated_sizes.max()),
    },
    'clients': len(sizes),
    'clients_per_round': experiment.clients.clients_per_round,
    'notes': experiment.data.notes,
    **_describe_images_of_clients(experiment, steps),
    **_describe_privacy(experiment),
    'server_steps_per_round': steps.server,
    'trainable_parameters': sum(
      int(np.prod(weight.shape))
      for weight in experiment.model.trainable_weights
    ),
    'flags': experiment_folder.recorded_settings(experiment),
  }


def _describe_images_of_clients(
  experiment: experiment_lib.Experiment, steps: system.Steps
) -> dict[str, object]:
  """What is known of clients' images."""
  names = experiment.settings.data.task.sites
  if names:
    return {
      'sites': names,
      # The hashes that sites may be asked to approve.
      'programs_of_sites': _find_programs(experiment),
    }
  sizes = experiment.clients.num_images
  return {
    'unlabeled_images': len(experiment.data.unlabeled.true_labels),
    'unlabeled_images_at_clients': sum(sizes),
    'images_per_client': {
      'least': min(sizes, default=0),
      'most': max(sizes, default=0),
    },
    'steps_of_a_client_per_round_at_most': steps.client,
  }


def _describe_privacy(
  experiment: experiment_lib.Experiment,
) -> dict[str, object]:
  """The privacy spent after all rounds; None without privacy."""
  promised = before_training.promise(experiment)
  if promised is None:
    return {}
  epsilon = promised.epsilon
  return {
    'privacy': {
      # JSON has no infinity.
      'epsilon': epsilon if epsilon is None or math.isfinite(epsilon) else None,
      'delta': promised.delta,
      'rounds': promised.num_rounds,
      'says': promised.headline,
      'meaning': promised.meaning,
    }
  }


def _find_programs(experiment: experiment_lib.Experiment) -> list[str]:
  """The hashes of all programs that clients run."""
  program = experiment.training_program
  computations = [program.process.next]
  if program.statistics is not None:
    computations.append(program.statistics.computation)
  with settings.blame('runtime', 'ray', runtime.NotPortableError):
    return [
      key for each in computations for key in runtime.find_client_programs(each)
    ]
