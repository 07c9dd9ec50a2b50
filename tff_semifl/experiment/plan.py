# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Facts, warnings and the plan of an experiment that has not run yet."""

from collections.abc import Iterator, Sequence
import math

import numpy as np

from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiment import client_privacy
from tff_semifl.experiment import evaluated_images
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.privacy import privacy_statement

# From this ratio of the largest to the smallest class, a remedy is suggested.
_IMBALANCED = 5


def find_facts(experiment: experiment_lib.Experiment) -> list[str]:
  """Lines shown before training, such as the precision of the accuracy."""
  labels = describe_imbalance(experiment)
  privacy = promise(experiment)
  return [
    evaluated_images.describe(experiment),
    *experiment.data.partition_notes,
    *([labels] if labels else []),
    *([f'privacy: {privacy.headline}'] if privacy else []),
  ]


def describe_imbalance(experiment: experiment_lib.Experiment) -> str | None:
  """One line on the server's class imbalance; None if classes are balanced."""
  names = experiment.task.class_names
  sizes = np.bincount(experiment.data.labeled.labels, minlength=len(names))
  least, most = int(sizes.argmin()), int(sizes.argmax())
  if sizes[least] == sizes[most]:
    return None
  line = (
    f'the server has {sizes.sum()} labels, from {sizes[least]} of'
    f' {names[least]} to {sizes[most]} of {names[most]};'
    ' --metrics=macro_f1,recall shows what accuracy hides of small classes'
  )
  balance = experiment.used_settings
  if (
    sizes[most] >= _IMBALANCED * max(sizes[least], 1)
    and balance.get('server_logit_adjustment') == 0
    and not balance['server_balanced_sampling']
  ):
    line += ', and --server_logit_adjustment=1 may help them'
  return line


def find_problems(experiment: experiment_lib.Experiment) -> Iterator[str]:
  """Yields warnings about the settings and the data."""
  yield from evaluated_images.find_problems(experiment)
  system = experiment.settings.system
  values = settings.as_dict(system)
  steps = system.count_steps(
    len(experiment.data.labeled.labels), experiment.clients.num_images
  )
  if (
    not steps.server
    and not values.get('server_pretraining_epochs')
    and not system.clients_have_labels
  ):
    yield (
      'the server takes no step in a round, so that its labels are unused, and'
      ' pseudo-labels are those of the initial weights; raise'
      f' --server_epochs (now {values.get("server_epochs")})'
    )
  threshold = experiment.used_settings.get('confidence_threshold')
  num_classes = experiment.task.num_classes
  if threshold is not None and threshold <= 1 / num_classes:
    yield (
      f'--confidence_threshold={threshold:g} leaves out no image: with'
      f' {num_classes} classes the most probable has {1 / num_classes:.2g} at'
      ' least; 0.8 to 0.95 are common'
    )
  privacy = promise(experiment)
  if privacy is not None and privacy.is_weak:
    yield privacy.meaning


def promise(
  experiment: experiment_lib.Experiment,
) -> privacy_statement.PrivacyStatement | None:
  """The privacy guarantee after all rounds; None without privacy."""
  return client_privacy.describe(
    experiment_folder.recorded_settings(experiment), experiment.total_rounds
  )


def describe(experiment: experiment_lib.Experiment) -> dict[str, object]:
  """The plan: sizes, steps, privacy and settings, for JSON."""
  labels = experiment.data.labeled.labels
  sizes = experiment.clients.num_images
  steps = experiment.settings.system.count_steps(len(labels), sizes)
  per_class = np.bincount(labels, minlength=experiment.task.num_classes)
  validates = experiment.settings.validates
  evaluated = 'validation_images' if validates else 'test_images'
  evaluated_sizes = evaluated_images.count_by_class(experiment)
  sites = experiment.settings.data.task.sites
  if sites:
    # The hashes that sites may be asked to approve.
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
    **_describe_privacy(experiment),
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


def _describe_privacy(
  experiment: experiment_lib.Experiment,
) -> dict[str, object]:
  """The privacy spent after all rounds; empty without privacy."""
  promised = promise(experiment)
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
  # Imported here, as only `--runtime=ray` has programs.
  from tff_semifl.runtime.ray import programs

  computations = [experiment.process.next]
  if experiment.statistics is not None:
    computations.append(experiment.statistics.computation)
  with settings.blame('runtime', 'ray', runtime.NotPortableError):
    return [
      key
      for each in computations
      for key in programs.find_client_programs(each)
    ]
