# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What the tests of flagfiles have in common: a cell of a table, as flags."""

import contextlib
import dataclasses
import os
import pathlib
import re
from unittest import mock

from absl import flags
from absl.testing import flagsaver
import numpy as np

from launch import experiment as experiment_lib
from launch import settings as settings_lib
from tasks import image_task
from tasks import registry
from tff_semifl.data import sources

ROOT = pathlib.Path(__file__).parents[2]
PARTITIONS = {
  'classes2': {'partition': 'classes', 'classes_per_client': 2},
  'dirichlet0.1': {'partition': 'dirichlet', 'dirichlet_concentration': 0.1},
  'dirichlet0.3': {'partition': 'dirichlet', 'dirichlet_concentration': 0.3},
  'iid': {'partition': 'iid'},
}
# Flags that no cell gives, as they say how or with which seed it is run.
NOT_THE_CELLS = {
  'aggregator',
  'client_dropout_probability',
  'clipping_norm',
  'clipping_quantile',
  'data_dir',
  'draw_data',
  'dry_run',
  'experiment_name',
  'jit_compile',
  'max_concurrent_clients',
  'max_update_norm_ratio',
  'measure_pseudo_labels',
  'noise_multiplier',
  'privacy_delta',
  'quantization_bits',
  'reproduce_final_test',
  'rounds_per_evaluation',
  'runtime',
  'seed',
  'tensorboard',
  'threads_per_operation',
  'train_in_bfloat16',
}

CLASS_SIZES = {
  'cifar10': [5000] * 10,
  'cifar100': [500] * 100,
  'emnist': [2400] * 47,
  'svhn': [4948, 13861, 10585, 8497, 7458, 6882, 5727, 5595, 5045, 4659],
}


# A kind of place, and labels of such places.
_LABEL = r'(?:[A-Z]\.)?\d+'
_PLACES = re.compile(
  rf'\b(Table|Figure|appendix)s? ({_LABEL}(?:(?:, | to ){_LABEL})*)'
)


def format_places(places):
  """Returns 'Figure B.1, Tables 1, C.1' for the places of a paper, sorted."""
  labels = {}
  for place in sorted(places):
    kind, label = place.split()
    labels.setdefault(kind, []).append(label)
  return ', '.join(
    f'{kind}{"s" if len(some) > 1 else ""} {", ".join(some)}'
    for kind, some in labels.items()
  )


def parse_places(text):
  """Returns the places that a text names: {'Figure B.1', 'Table C.1'}."""
  places = set()
  for kind, labels in _PLACES.findall(text):
    for label in labels.split(', '):
      first, to, last = label.partition(' to ')
      if to:
        some = range(int(first), int(last) + 1)
      else:
        some = [first]
      places.update(f'{kind} {each}' for each in some)
  return places


@contextlib.contextmanager
def in_root():
  """The path of an included flagfile is relative to the working directory."""
  before = os.getcwd()
  os.chdir(ROOT)
  try:
    yield
  finally:
    os.chdir(before)


@contextlib.contextmanager
def flags_of(path):
  """Within, flags are as a program has them that is given the flagfile."""
  with in_root(), flagsaver.flagsaver():
    flags.FLAGS(['program', f'--flagfile={path.relative_to(ROOT)}'])
    yield


def _labels(task):
  """Returns as many labels of each class as the real data set has."""
  sizes = CLASS_SIZES[task]
  return np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)


def _load(task):
  """Returns data of the real size whose images are one black pixel each."""
  labels = _labels(task)
  images = np.zeros([len(labels), 1, 1, 3], np.uint8)
  data = sources.LabelledImages(images, labels)
  return image_task.TaskData(train=data, test=data.select(np.arange(10)))


def create_experiment(system, task_name):
  """Builds all of an experiment but model and computations."""
  task = dataclasses.replace(
    registry.create_task(task_name), load=lambda data_dir: _load(task_name)
  )
  with (
    mock.patch.object(registry, 'create_task', return_value=task),
    mock.patch.object(
      experiment_lib.models,
      'create_model',
      return_value=mock.Mock(trainable_weights=[]),
    ),
    mock.patch.object(
      experiment_lib.training_programs, 'create_training_program'
    ),
  ):
    settings = settings_lib.resolve(system)
    return experiment_lib.create_experiment(system, settings)
