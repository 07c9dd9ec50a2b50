# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The experiments of presets, without their data."""

from unittest import mock

import numpy as np

from tests import small_systems
from tff_semifl.cli import commands
from tff_semifl.data import sources
from tff_semifl.experiment import image_task
from tff_semifl.experiment import plan
from tff_semifl.experiment import presets

# The number of training images of each class.
CLASS_SIZES = {
  'cifar10': [5000] * 10,
  'cifar100': [500] * 100,
  'emnist': [2400] * 47,
  'fashion_mnist': [6000] * 10,
  'svhn': [4948, 13861, 10585, 8497, 7458, 6882, 5727, 5595, 5045, 4659],
}


def create_command(name, **changes):
  """The command of a program with a preset."""
  preset = presets.load(name)
  return commands.create(
    preset.system_name,
    {'output_dir': preset.output_dir, **preset.settings, **changes},
  )


def create_experiment(name):
  """Builds a preset's experiment, without model and computations."""
  command = create_command(name)
  sizes = CLASS_SIZES[command.experiment.task_name]
  labels = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
  train = sources.LabeledImages(
    np.zeros([len(labels), 1, 1, 3], np.uint8), labels
  )
  data = sources.TaskData(train=train, test=train.select(np.arange(10)))
  with (
    mock.patch.object(image_task, 'load', return_value=data),
    mock.patch.object(
      type(command.experiment.model.model),
      'create',
      return_value=mock.Mock(trainable_weights=[]),
    ),
    small_systems.without_computations(),
  ):
    return command.create_experiment()


def describe(name):
  """The plan of a preset's experiment."""
  return plan.describe(create_experiment(name))


def count_steps(described):
  """The steps of server and client in a round of a plan."""
  return (
    described['server_steps_per_round'],
    described['steps_of_a_client_per_round_at_most'],
  )
