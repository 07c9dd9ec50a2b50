# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the numbers of epochs and batches, and of batches' examples."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests.core import rows_test
from tff_semifl.core import optimizers
from tff_semifl.core import rows
from tff_semifl.core import training_loop

_ROWS = parameterized.parameters(rows.Rows, rows_test.padded)


def _train(
  num_epochs,
  *,
  num_examples=10,
  batch_size=3,
  num_counted=None,
  rows_fn=rows.Rows,
  state=(),
  **kwargs,
):
  """Adds up examples, by steps of rate 1 on the loss `-w * sum(batch)`."""
  optimizer = optimizers.build_nesterov_sgd(
    1.0, momentum=0.0, weight_decay=0.0, clip_norm=None
  )
  weights = (tf.zeros([]),)

  def epoch_data(epoch):
    # Powers of two, so that a sum identifies its examples.
    examples = 2 ** np.arange(num_examples) + 10000.0 * tf.cast(
      epoch, tf.float32
    )
    return rows_fn(tf.cast(examples, tf.float32))

  def loss(trainable, batch, epoch, batch_num, state):
    del state
    total = tf.reduce_sum(tf.where(batch.is_real, batch.examples, 0))
    # The numbers of epoch and batch, in place of correct predictions.
    numbers = 100.0 * tf.cast(epoch, tf.float32) + tf.cast(
      batch_num, tf.float32
    )
    return training_loop.BatchOutput(
      -trainable[0] * total, numbers, num_counted
    )

  @tf.function
  def run():
    return training_loop.TrainingLoop(
      optimizer=optimizer,
      num_epochs=num_epochs,
      batch_size=batch_size,
      epoch_data_fn=epoch_data,
      loss_fn=loss,
      **kwargs,
    ).train(
      weights, training_loop.initial_optimizer_state(optimizer, weights), state
    )

  return run()


class TrainTest(parameterized.TestCase):
  @parameterized.parameters(
    # Batches of 3, 3, 3 and 1: fractions of four batches, rounded up.
    (0, 0),
    (0.001, 3),
    (0.26, 6),
    (0.76, 10),
    (1, 10),
  )
  def test_share_of_an_epoch(self, num_epochs, num_seen):
    result = _train(num_epochs)
    self.assertEqual(result.trainable[0], 2**num_seen - 1)
    self.assertEqual(result.sums.num_examples, num_seen)
    self.assertEqual(result.sums.num_visited, num_seen)

  @_ROWS
  def test_more_than_one_epoch_is_rounded_up(self, rows_fn):
    result = _train(2.0001, rows_fn=rows_fn)
    self.assertEqual(result.trainable[0], 3 * 1023 + 10 * 10000 * (0 + 1 + 2))
    # Batches 0 to 3 of each epoch.
    self.assertEqual(result.sums.num_correct, 3 * 6 + 400 * (0 + 1 + 2))

  def test_share_is_exact_where_float32_is_not(self):
    # In 32 bits, 0.1 is more than a tenth: of ten batches, two would be taken.
    result = _train(0.1, num_examples=10, batch_size=1)
    self.assertEqual(result.sums.num_examples, 1)

  @_ROWS
  def test_only_what_is_selected_is_trained_on(self, rows_fn):
    # Batches are [1, 2, 4], [8, 16, 32], [64, 128, 256] and [512].
    result = _train(
      1,
      select_fn=lambda batch, now: (
        batch.keep((batch.examples > 3) & (batch.examples < 40)),
        now.state,
      ),
      rows_fn=rows_fn,
    )
    self.assertEqual(result.trainable[0], 4 + 8 + 16 + 32)
    self.assertEqual(result.sums.num_examples, 4)
    self.assertEqual(result.sums.num_visited, 10)
    # The steps of batches 0 and 1; batches 2 and 3 had no step.
    self.assertEqual(result.sums.num_correct, 0 + 1)

  def test_selection_is_by_the_weights_of_the_moment(self):
    result = _train(
      1,
      batch_size=1,
      select_fn=lambda batch, now: (
        batch.keep(tf.equal(now.trainable[0], 0.0) & (batch.examples > 3)),
        now.state,
      ),
    )
    self.assertEqual(result.trainable[0], 4)

  def test_state_goes_through_all_steps_that_are_taken(self):
    # The largest weight of any step, and the number of steps.
    result = _train(
      2,
      select_fn=lambda batch, now: (
        # Skips the third batch of each epoch, and all batches after 7 steps.
        batch.keep((batch.examples < 60) | (now.state[1] > 2)),
        now.state,
      ),
      state=(tf.constant(0.0), tf.constant(0)),
      after_step_fn=lambda state, trainable: (
        tf.maximum(state[0], trainable[0]),
        state[1] + 1,
      ),
    )
    self.assertEqual(result.state[0], result.trainable[0])
    self.assertEqual(result.sums.num_visited, 20)
    # 3 and 3 examples of the first epoch, after which there were two steps.
    self.assertEqual(result.state[1], 2)

  def test_examples_that_count(self):
    # Four batches, each counted as half an example.
    result = _train(1, num_counted=0.5)
    self.assertEqual(result.trainable[0], 1023)
    self.assertEqual(result.sums.num_examples, 4 * 0.5)
    self.assertEqual(result.sums.num_visited, 10)

  def test_learning_rate_of_each_step(self):
    result = _train(
      2,
      learning_rate_fn=lambda epoch, batch_num: tf.cast(
        10 * epoch + batch_num, tf.float32
      ),
    )
    # The sums 7, 56, 448 and 512; in the second epoch, 10,000 more per example.
    sums, sizes = np.array([7, 56, 448, 512]), np.array([3, 3, 3, 1])
    self.assertEqual(
      result.trainable[0],
      np.arange(4) @ sums + (10 + np.arange(4)) @ (sums + 10000 * sizes),
    )

  @_ROWS
  def test_no_examples(self, rows_fn):
    for num_epochs in (0.5, 2):
      result = _train(num_epochs, num_examples=0, rows_fn=rows_fn)
      self.assertEqual(result.trainable[0], 0)


if __name__ == '__main__':
  tf.test.main()
