# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that errors about splits name the classes."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import small_systems
from tff_semifl import settings
from tff_semifl.experiment import own_data
from tff_semifl.experiment import python_experiment

_NAMES = ('ant', 'bee', 'cow')


def _create(labels, test=None, system='semifl', num_labeled=None, **changes):
  """Creates an experiment on vectors with these labels, in this order."""
  labels = np.array(labels)
  vectors = np.random.default_rng(0).normal(size=[len(labels), 4])
  task = own_data.own_data(
    (vectors, labels),
    (vectors[-1:], labels[-1:]) if test is None else (vectors[test], [0]),
    num_labeled=num_labeled,
    class_names=_NAMES,
    clients=None if num_labeled else {'ann': vectors[:1] + 1},
  )
  with small_systems.without_process(system):
    return python_experiment.create_experiment(
      system, task, clients_per_round=1, **changes
    )


class NamedClassesTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.named_parameters(
    (
      'classes',
      [*range(3), 0, 0, 1, 1, 2],
      {
        'num_labeled': 3,
        'num_clients': 3,
        'partition': 'classes',
        'classes_per_client': 2,
      },
    ),
  )
  def test_class_that_lacks_images(self, labels, changes):
    with self.assertRaisesRegex(settings.SettingError, 'class.*cow'):
      _create(labels, **changes)


if __name__ == '__main__':
  tf.test.main()
