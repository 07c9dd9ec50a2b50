# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that all clients and rounds share one compiled client update.

XLA treats some arguments of operations, such as shapes, as constants, with all
operations that compute them. It compiles again for each of their values.
"""

import functools
import re
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import pytest
import tensorflow as tf

from tasks import digits
from tests import small_systems
from tff_semifl.algorithms import round_parts
from tff_semifl.augment import augmentation
from tff_semifl.augment import rand_augment
from tff_semifl.augment import semifl_policy
from tff_semifl.core import compiled_steps
from tff_semifl.core import federated_process
from tff_semifl.core import rows as rows_lib
from tff_semifl.core import training_loop
from tff_semifl.experiment import models
from tff_semifl.models import functional


@pytest.mark.slow
class TurnConstantsTest(parameterized.TestCase):
  @parameterized.parameters('semifl', 'batch_label_semifl')
  def test_no_argument_is_a_constant(self, system_name):
    system = small_systems.create(system_name, {'client_batch_size': 4})
    task = digits.Digits().create()
    # Gradients depend on shapes and on the padding of images.
    model = models.WideResNet(model_depth=7, model_width=1).create(task, seed=0)
    classifier = functional.from_keras(model)
    shift = functools.partial(augmentation.flip_and_crop, flip=True, padding=2)
    names = ('Rotate', 'ShearX')
    change = functools.partial(
      rand_augment.apply_random_operations,
      operations=[
        each for each in semifl_policy.create_operations() if each.name in names
      ],
      num_operations=1,
      application_probability=0.5,
    )
    programs = []

    def keep_program(loop, examples):
      padded, number = compiled_steps.pad(examples)

      @tf.function(jit_compile=True, autograph=False)
      def program(padded, number):
        with compiled_steps.portably():
          return loop(rows_lib.Rows(padded, number)).trainable

      concrete = program.get_concrete_function(padded, number)
      hlo = program.experimental_get_compiler_ir(padded, number)(stage='hlo')
      arguments = [*tf.nest.flatten(padded), number, *concrete.captured_inputs]
      programs.append((hlo, sum(each is not None for each in arguments)))
      return loop(rows_lib.Rows(examples))

    ingredients = small_systems.create_ingredients(
      classifier=classifier,
      weak_augmentation=shift,
      strong_augmentation=change,
      jit_compile=True,
    )
    optimizer, _ = system.create_optimizers(classifier)
    weights = tf.nest.map_structure(tf.constant, classifier.initial_weights)
    train = round_parts.build_local_training(
      system.client, ingredients, optimizer, system.local_training
    )
    self.enter_context(
      mock.patch.object(compiled_steps, 'run_compiled', keep_program)
    )
    train(
      weights,
      federated_process.RoundContext(*map(tf.constant, (7, 3, 0.2))),
      {
        'client_id': tf.constant(5),
        'image': tf.zeros([10, *classifier.image_shape], tf.uint8),
      },
      training_loop.initial_optimizer_state(optimizer, weights.trainable),
    )
    [(program, num_arguments)] = programs
    [entry] = re.findall(r'^ENTRY .*?^}', program, re.MULTILINE | re.DOTALL)
    self.assertLen(re.findall(r' parameter\(\d+\)', entry), num_arguments)


if __name__ == '__main__':
  absltest.main()
