# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the models of the registry, and of users' models."""

import sys
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import pytest
import tensorflow as tf

from tasks import digits
from tests.experiment import small_experiment
from tff_semifl import settings
from tff_semifl.experiment import chosen_models
from tff_semifl.models import functional
from tff_semifl.models import static_batch_norm


def _create_linear(task, seed):
  del seed  # The weights do not matter here.
  return tf.keras.Sequential(
    [
      tf.keras.Input(task.image_shape),
      tf.keras.layers.Flatten(),
      tf.keras.layers.Dense(task.num_classes),
    ]
  )


def _create_normalized(task, seed):
  del seed  # The weights do not matter here.
  return tf.keras.Sequential(
    [
      tf.keras.Input(task.image_shape),
      static_batch_norm.StaticBatchNormalization(),
      tf.keras.layers.Flatten(),
      tf.keras.layers.Dense(task.num_classes),
    ]
  )


class ModelsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.task = digits.Digits().create()
    outside = types.ModuleType('outside')
    outside.linear = _create_linear
    outside.normalized = _create_normalized
    outside.number = 7
    outside.takes_task = lambda task: None
    outside.returns_name = lambda task, seed: 'wide_resnet'
    self.enter_context(mock.patch.dict(sys.modules, outside=outside))

  @parameterized.parameters(*sorted(chosen_models.MODELS))
  @pytest.mark.slow
  def test_static_batch_norm_is_where_it_is_said_to_be(self, name):
    model = chosen_models.MODELS[name]
    created = model.create(self.task, seed=0)
    self.assertEqual(
      model.has_static_batch_norm,
      bool(functional.find_weights(created).statistics),
    )

  @parameterized.parameters(('linear', False), ('normalized', True))
  def test_static_batch_norm_of_an_outside_model(self, name, expected):
    filled = small_experiment.fill_in(model=f'outside:{name}')
    self.assertEqual(
      filled.statistics.batch_norm_statistics, 'server' if expected else None
    )

  @parameterized.parameters(
    ('number', 'is a int; must be a function of task, seed'),
    (
      'takes_task',
      'must be a function of task, seed: too many positional arguments',
    ),
    ('returns_name', 'returned str, no Keras model'),
  )
  def test_what_is_no_model_is_an_error(self, name, message):
    model = chosen_models.load_function(f'outside:{name}')
    with self.assertRaisesRegex(
      settings.SettingError, f'^model=outside:{name}: {message}$'
    ):
      model.create(self.task, seed=0)


if __name__ == '__main__':
  absltest.main()
