# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the GPU check, on the CPU with a small federation."""

import contextlib
import dataclasses
import functools
import io
import json
import pathlib
import types
from unittest import mock

from absl.testing import absltest
import numpy as np
import pytest

from benchmarks import device_updates
from benchmarks import federation as federation_lib
from benchmarks import gpu
from benchmarks import measurement
from tasks import cifar
from tests import small_digits
from tests.core import small_updates
from tff_semifl import settings

_FLAGS = {
  'model_depth': 10,
  'model_width': 1,
  'num_clients': 1,
  'images_per_client': 24,
  'num_labeled': 10,
  'num_epochs': 1,
  'repetitions': 1,
  'side_by_side': ('2',),
}


class DeviceCheckTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    # Building augmentations takes longer here than training.
    data_set = dataclasses.replace(
      cifar.CIFAR10.data_set,
      build_strong_augmentation=lambda: lambda images, seed: images,
      flip=False,
      padding=0,
    )
    self.enter_context(mock.patch.object(cifar.CIFAR10, 'data_set', data_set))
    self.enter_context(small_digits.without_wide_resnet())

  @pytest.mark.slow
  def test_the_program(self):
    # XLA's compilation would take most of the time, and has its own tests. The
    # rest is built only once.
    self.enter_context(small_updates.without_xla())
    federation = federation_lib.Federation
    for module, name, replacement in (
      (gpu, '_create_devices', lambda number, _: ['/device:CPU:0'] * number),
      (
        device_updates,
        'build_update',
        functools.cache(device_updates.build_update),
      ),
      (
        federation_lib,
        'Federation',
        functools.cache(lambda size, **without_xla: federation(size)),
      ),
    ):
      self.enter_context(mock.patch.object(module, name, replacement))
    path = pathlib.Path(self.create_tempdir().full_path, 'gpu.json')
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
      gpu.main(settings.change(gpu.GPU(), {'output_file': str(path), **_FLAGS}))
    measured = {
      each['name']: measurement.Measurement(**each)
      for each in json.loads(path.read_text())['measurements']
    }
    self.assertEqual(
      list(measured),
      [
        'numbers',
        'first_update',
        'step',
        'round, 1 side by side, XLA',
        'round, 2 side by side, XLA',
        'round, 1 side by side',
        'profile of /host:CPU',
      ],
    )
    for each in measured.values():
      self.assertIn(each.table(), output.getvalue())
    errors = measured['numbers'].values
    self.assertEqual(list(errors), ['dynamic', 'XLA', 'tolerance'])
    # The dynamic form is the reference; XLA rounds differently.
    self.assertEqual(errors['dynamic'], [0])
    self.assertBetween(errors['XLA'][0], 1e-9, errors['tolerance'][0])
    # Three steps take less time than the update with tracing and compilation.
    for name, [first] in measured['first_update'].values.items():
      [milliseconds] = measured['step'].values[name]
      self.assertBetween(3 * milliseconds, 1, 1000 * first)

  def test_other_numbers(self):
    def build(federation, jit_compile):
      del federation
      # The error of XLA's update is set to one percent.
      factor = 1.01 if jit_compile else 1
      return lambda weights: types.SimpleNamespace(
        update=[factor * each for each in weights.trainable]
      )

    size = federation_lib.Size(model_depth=10, model_width=1)
    with mock.patch.object(device_updates, 'build_update', build):
      compared = device_updates.compare('/device:CPU:0', size)
    errors = {name: error for name, [error] in compared.values.items()}
    self.assertEqual(errors['dynamic'], 0)
    self.assertAlmostEqual(errors['XLA'], 0.01, places=6)
    # Weights were changed by a millionth, and therefore also the updates.
    np.testing.assert_allclose(errors['tolerance'], 5 * 2.0**-20, rtol=0.1)
    self.assertFalse(device_updates.are_equal(compared))
    compared.values['XLA'][:] = [errors['tolerance']]
    self.assertTrue(device_updates.are_equal(compared))
    compared.values['XLA'][:] = [float('nan')]
    self.assertFalse(device_updates.are_equal(compared))
