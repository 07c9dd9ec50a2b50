# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Facts and warnings shown before the first round."""

from collections.abc import Iterator

import numpy as np

from tff_semifl import settings
from tff_semifl.experiments import client_privacy
from tff_semifl.experiments import evaluated_images
from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.experiments import experiment_folder
from tff_semifl.privacy import privacy_statement

# Classes whose labels are counted one by one.
_MAX_COUNTS = 20
# Above this ratio of labels, the line suggests a remedy.
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
  """A line on the server's labels; None if all classes have as many."""
  names = experiment.task.class_names
  sizes = np.bincount(experiment.data.labeled.labels, minlength=len(names))
  least, most = int(sizes.argmin()), int(sizes.argmax())
  if sizes[least] == sizes[most]:
    return None
  shown = ', '.join(
    f'{size} of {name}' for name, size in zip(names, sizes, strict=True)
  )
  if len(names) > _MAX_COUNTS:
    shown = (
      f'from {sizes[least]} of {names[least]} to {sizes[most]} of {names[most]}'
    )
  line = (
    f'the server has {sizes.sum()} labels, {shown};'
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
  """Yields warnings."""
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
  """The privacy guarantee after all rounds; None if it was not chosen."""
  return client_privacy.describe(
    experiment_folder.recorded_settings(experiment), experiment.total_rounds
  )
