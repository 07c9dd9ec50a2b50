# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Describes what an experiment would run, for --dry_run."""

from collections.abc import Sequence
import math

import numpy as np

from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import model_results
from tff_semifl.experiment import site_shares
from tff_semifl.experiment import training_warnings


def describe(experiment: experiment_lib.Experiment) -> dict[str, object]:
  """The plan: sizes, steps, privacy and settings, for JSON."""
  labels = experiment.data.labeled.labels
  sizes = experiment.clients.num_images
  steps = experiment.settings.system.count_steps(len(labels), sizes)
  per_class = np.bincount(labels, minlength=experiment.task.num_classes)
  evaluated = 'validation_images' if experiment.validates else 'test_images'
  evaluated_sizes = model_results.count_by_class(experiment)
  sites = experiment.settings.data.task.sites
  if sites:
    of_clients = {
      'sites': sites,
      'programs_of_sites': _find_programs(experiment),
    }
  else:
    of_clients = {
      'unlabeled_images': len(experiment.data.unlabeled.true_labels),
      'unlabeled_images_at_clients': sum(sizes),
      'images_per_client': _range(sizes),
      'steps_of_a_client_per_round_at_most': steps.client,
    }
  privacy = {}
  if promised := training_warnings.promise(experiment):
    epsilon = promised.epsilon
    is_finite = epsilon is not None and math.isfinite(epsilon)
    privacy['privacy'] = {
      # JSON has no infinity.
      'epsilon': epsilon if is_finite else None,
      'delta': promised.delta,
      'rounds': promised.num_rounds,
      'says': promised.headline,
      'meaning': promised.meaning,
    }
  return {
    'data': experiment.task.data_description,
    'classes': experiment.task.num_classes,
    'image_shape': experiment.task.image_shape,
    'labeled_images': len(labels),
    'labeled_images_per_class': _range(per_class),
    evaluated: int(evaluated_sizes.sum()),
    f'{evaluated}_per_class': _range(evaluated_sizes),
    'clients': len(sizes),
    'clients_per_round': experiment.clients.clients_per_round,
    'notes': experiment.data.notes,
    **of_clients,
    **privacy,
    'server_steps_per_round': steps.server,
    'trainable_parameters': sum(
      int(np.prod(weight.shape))
      for weight in experiment.model.trainable_weights
    ),
    'flags': experiment_folder.recorded_settings(experiment),
  }


def _range(sizes: Sequence[int] | np.ndarray) -> dict[str, int]:
  return {
    'least': int(min(sizes, default=0)),
    'most': int(max(sizes, default=0)),
  }


def _find_programs(experiment: experiment_lib.Experiment) -> list[str]:
  """The digests of all programs that sites will run, in order, for approval."""
  # Imported here, because only `--runtime=ray` has programs.
  from tff_semifl.runtime.ray import programs

  process = experiment.process
  computations = [*process.preparations, process.next]
  if experiment.statistics is not None:
    computations.append(experiment.statistics.computation)
  if experiment.run.share_prior:
    computations.append(site_shares.build_evidence(experiment.classifier))
  # A preparation may be repeated.
  once = {id(each): each for each in computations}.values()
  with settings.blame('runtime', 'ray', runtime.NotPortableError):
    return [key for each in once for key in programs.find_client_programs(each)]
