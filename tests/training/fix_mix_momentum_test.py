# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the momentum that a SemiFL client keeps between its turns (D5)."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import fix_mix_reference
from tests import linear_reference
from tests.training import fix_mix_client
from tff_semifl.core import round_context


class MomentumTest(fix_mix_client.FixMixClientTestCase):
  def test_types_if_clients_keep_their_momentum(self):
    """D5: a client's state is placed at the client."""
    process = fix_mix_client.build(keep_optimizer_state=True)
    state = '<learning_rate=float32,accumulator=<float32[4,3],float32[3]>>'
    self.assertEqual(
      process.initialize_memory.type_signature.compact_representation(),
      f'( -> {state})',
    )
    types = process.next.type_signature
    self.assertEqual(
      types.parameter[3].compact_representation(), f'{{{state}}}@CLIENTS'
    )
    self.assertEqual(
      types.result.result.compact_representation(),
      '{<update=<float32[4,3],float32[3]>,update_weight=float32,'
      # Given labels are not asked for.
      f'memory={state},given_labels=<>,report=<>>}}@CLIENTS',
    )

  def test_momentum_that_a_client_keeps_equals_numpy(self):
    """D5: the second turn starts with the buffer of the first."""
    process = fix_mix_client.build(
      threshold=self.threshold, keep_optimizer_state=True
    )
    memory = process.initialize_memory()
    weights, accumulator = self.weights, None
    for round_num in (2, 9):
      output = process.next(
        process.initialize(),
        [
          (
            weights,
            round_context.RoundContext(fix_mix_client.SEED, round_num, 0.1),
          )
        ],
        [linear_reference.client_dataset(3, self.images)],
        [memory],
      )
      expected = fix_mix_reference.train_client(
        weights.trainable,
        self.images,
        client_id=3,
        round_num=round_num,
        seed=fix_mix_client.SEED,
        learning_rate=0.1,
        num_epochs=2,
        batch_size=2,
        threshold=self.threshold,
        mix_loss_weight=1.0,
        accumulator=accumulator,
      )
      [result] = output.result
      memory, accumulator = result.memory, expected.accumulator
      for found, wanted in zip(memory['accumulator'], accumulator, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
      linear_reference.assert_is_update(
        result.update, weights.trainable, expected.weights
      )

  def test_client_that_does_not_train_keeps_its_momentum(self):
    def overflow(images, seed):
      del seed  # Unused.
      return tf.cast(images, tf.float32) * np.inf

    state = {
      'learning_rate': np.float32(0),
      'accumulator': [np.ones([4, 3], np.float32), np.ones([3], np.float32)],
    }
    # Sure of nothing (A.11), or trained to what is not finite.
    for process in (
      fix_mix_client.build(threshold=1.0, keep_optimizer_state=True),
      fix_mix_client.build(strong=overflow, keep_optimizer_state=True),
    ):
      context = round_context.RoundContext(
        fix_mix_client.SEED, 1, fix_mix_client.LEARNING_RATE
      )
      output = process.next(
        process.initialize(),
        [(self.weights, context)],
        [linear_reference.client_dataset(0, self.images)],
        [state],
      )
      [result] = output.result
      self.assertEqual(result.update_weight, 0.0)
      for array in result.memory['accumulator']:
        np.testing.assert_array_equal(array, np.ones_like(array))


if __name__ == '__main__':
  absltest.main()
