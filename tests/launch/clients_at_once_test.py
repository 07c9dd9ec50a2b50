# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the setting by which clients compute at once."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests import at_once
from tests import small_digits
from tests import small_systems
from tff_semifl import settings
from tff_semifl.experiments import runtimes
from tff_semifl.launch import commands
from tff_semifl.work import turn_form


class ClientsAtOnceTest(parameterized.TestCase):
  @parameterized.parameters(
    ({}, turn_form.DYNAMIC),
    ({'clients_at_once': 2}, turn_form.STATIC),
    ({'clients_at_once': 2, 'jit_compile': True}, turn_form.COMPILED),
  )
  def test_form_of_turns(self, values, form):
    command = commands.create(
      'semifl',
      {
        'output_dir': self.create_tempdir().full_path,
        'num_clients': 20,
        **small_digits.SETTINGS,
        **values,
      },
    )
    with small_systems.without_process('semifl') as build:
      command.create_experiment()
    [ingredients] = build.call_args.args
    self.assertIs(ingredients.turn_form, form)

  def test_runtime(self):
    double_thrice = at_once.double_thrice()

    @tff.federated_computation(tff.FederatedType(np.int32, tff.CLIENTS))
    def compute(numbers):
      return tff.federated_map(double_thrice, numbers)

    with (
      at_once.group_sizes() as sizes,
      runtimes.InProcess(clients_at_once=2).context(),
    ):
      self.assertEqual([*compute([1, 2, 3, 4, 5])], [8, 16, 24, 32, 40])
    self.assertCountEqual(sizes, [2, 2, 1])

  def test_what_cannot_be_run_at_once(self):
    @tff.tensorflow.computation(np.int32)
    def count(number):
      return tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, x + tf.size(tf.where(tf.range(3) < x))),
        (0, number),
      )[1]

    @tff.federated_computation(tff.FederatedType(np.int32, tff.CLIENTS))
    def compute(numbers):
      return tff.federated_map(count, numbers)

    with self.assertRaisesRegex(
      settings.SettingError, '^clients_at_once=2: operation Where .* at once'
    ):
      with runtimes.InProcess(clients_at_once=2).context():
        compute([1, 2])

  @parameterized.parameters('native', 'ray')
  def test_other_runtimes_do_not_have_it(self, name):
    with self.assertRaisesRegex(
      settings.SettingError, 'clients_at_once.*in_process'
    ):
      commands.create('semifl', {'runtime': name, 'clients_at_once': 2})


if __name__ == '__main__':
  absltest.main()
