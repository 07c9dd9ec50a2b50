# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that the program of a client's turn is one for all clients and rounds.

Of how many images are padding, too: it is a number like any other.

XLA takes some arguments of operations for constants, such as shapes, and with
them all that they come from. It compiles anew for each of their values.
"""

import functools
import re

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests import small_systems
from tff_semifl.augment import rand_augment
from tff_semifl.augment import semifl_policy
from tff_semifl.augment import weak
from tff_semifl.experiments import models
from tff_semifl.models import functional
from tff_semifl.tasks import digits
from tff_semifl.work import client_work_process
from tff_semifl.work import round_context
from tff_semifl.work import training_loop
from tff_semifl.work import turn_form


@pytest.mark.slow
class TurnConstantsTest(parameterized.TestCase):
  @parameterized.parameters('semifl', 'batch_label_semifl')
  def test_no_argument_is_a_constant(self, system_name):
    system = small_systems.create(system_name, {'client_batch_size': 4})
    task = digits.Digits().create()
    # Gradients depend on shapes and on how images are padded.
    model = models.WideResNet(model_depth=7, model_width=1).create(task, seed=0)
    classifier = functional.from_keras(model)
    shift = functools.partial(weak.flip_and_crop, flip=True, padding=2)
    names = ('Rotate', 'ShearX')
    change = functools.partial(
      rand_augment.apply_random_operations,
      operations=[
        each for each in semifl_policy.create_operations() if each.name in names
      ],
      num_operations=1,
      application_probability=0.5,
    )
    ingredients = small_systems.create_ingredients(
      classifier=classifier,
      weak_augmentation=shift,
      strong_augmentation=change,
      turn_form=turn_form.COMPILED,
    )
    optimizer, _ = system.create_optimizers(classifier)
    train = system.client.build(ingredients, optimizer, system.client_turn)

    def train_client(weights, context, data, optimizer_state):
      training = train(weights, context, data, optimizer_state).training
      result = client_work_process.ClientResult(
        training.trainable, 1.0, training.optimizer_state
      )
      return result, ()

    @tf.function(jit_compile=True)
    def take_turn(weights, context, data):
      state = training_loop.initial_optimizer_state(
        optimizer, weights.trainable
      )
      turn = turn_form.COMPILED.run(train_client)
      return turn(weights, context, data, state)[0].update

    images = np.zeros([10, *classifier.image_shape], np.uint8)
    arguments = tf.nest.map_structure(
      tf.constant,
      (
        classifier.initial_weights,
        round_context.RoundContext(7, 3, np.float32(0.2)),
        turn_form.COMPILED.pad({'client_id': np.int32(5), 'image': images}),
      ),
    )
    program = take_turn.experimental_get_compiler_ir(*arguments)(stage='hlo')
    [entry] = re.findall(r'^ENTRY .*?^}', program, re.MULTILINE | re.DOTALL)
    self.assertLen(
      re.findall(r' parameter\(\d+\)', entry), len(tf.nest.flatten(arguments))
    )


if __name__ == '__main__':
  absltest.main()
