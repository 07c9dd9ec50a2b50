# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Minibatch training over epochs in a TensorFlow graph; SemiFL's schedule."""

import collections
from collections.abc import Callable, Sequence
import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tff_semifl.core import losses
from tff_semifl.core import optimizers
from tff_semifl.core import rows as rows_lib


class BatchOutput(NamedTuple):
  """The loss and the number of correct predictions of a batch, scalars.

  `num_examples`, a scalar, counts the examples that contribute to the loss;
  None means all. `state` is the method's state, None if unchanged.
  """

  loss: tf.Tensor
  num_correct: tf.Tensor
  num_examples: tf.Tensor | None = None
  state: Any = None


class TrainingSums(NamedTuple):
  """Sums over all batches of all epochs, float32 scalars.

  `loss` sums batch losses times batch sizes; `num_examples` counts examples
  that contribute to the loss, `num_visited` all examples.
  """

  loss: tf.Tensor
  num_correct: tf.Tensor
  num_examples: tf.Tensor
  num_visited: tf.Tensor

  def means(self) -> collections.OrderedDict[str, tf.Tensor]:
    """The mean `loss` and `accuracy` over examples, NaN without examples."""
    return collections.OrderedDict(
      loss=self.loss / self.num_examples,
      accuracy=self.num_correct / self.num_examples,
    )


class TrainingResult(NamedTuple):
  """Weights, optimizer state, sums and callback state of a `TrainingLoop`."""

  trainable: tuple[tf.Tensor, ...]
  optimizer_state: Any
  sums: TrainingSums
  state: Any = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingLoop:
  """Epochs of optimizer steps; an epoch's last batch may be smaller.

  Attributes:
    num_epochs: Below 1, the fraction of the batches of one epoch, rounded up;
      larger numbers are rounded up to whole epochs.
    epoch_data_fn: Epoch number -> the examples of the epoch, in order.
    loss_fn: (trainable, batch, epoch number, batch number, state) ->
      `BatchOutput`.
    select_fn: (batch, current `TrainingResult`) -> the examples of the batch to
      train on, and the additional state; by default all examples. If no example
      is selected, no step is taken.
    after_step_fn: (state, trainable) -> the additional state after a step.
    learning_rate_fn: (epoch number, batch number) -> learning rate; None for
      the rate of the optimizer's state.
  """

  optimizer: optimizers.Optimizer
  num_epochs: float
  batch_size: int | tf.Tensor
  epoch_data_fn: Callable[[tf.Tensor], rows_lib.Rows]
  loss_fn: Callable[
    [tuple[tf.Tensor, ...], rows_lib.Rows, tf.Tensor, tf.Tensor, Any],
    BatchOutput,
  ]
  select_fn: (
    Callable[[rows_lib.Rows, TrainingResult], tuple[rows_lib.Rows, Any]] | None
  ) = None
  after_step_fn: Callable[[Any, tuple[tf.Tensor, ...]], Any] | None = None
  learning_rate_fn: Callable[[tf.Tensor, tf.Tensor], tf.Tensor] | None = None

  def train(
    self,
    trainable: tuple[tf.Tensor, ...],
    optimizer_state: Any,
    state: Any = (),
  ) -> TrainingResult:
    """Trains for all epochs; without epochs or examples, nothing changes."""
    sums = TrainingSums(*[tf.zeros([], tf.float32)] * 4)
    start = TrainingResult(tuple(trainable), optimizer_state, sums, state)
    if not self.num_epochs:
      return start
    _, result = tf.while_loop(
      lambda epoch, _: epoch < math.ceil(self.num_epochs),
      lambda epoch, result: (epoch + 1, self._run_epoch(epoch, result)),
      (0, start),
    )
    return result

  def _run_epoch(
    self, epoch: tf.Tensor, result: TrainingResult
  ) -> TrainingResult:
    data = self.epoch_data_fn(epoch)
    num_batches = -(-data.number // self.batch_size)
    if self.num_epochs < 1:
      # In float64, so that 0.2 of five batches is one batch.
      share = self.num_epochs * tf.cast(num_batches, tf.float64)
      num_batches = tf.cast(tf.math.ceil(share), tf.int32)
    _, result = tf.while_loop(
      lambda batch_num, _: batch_num < num_batches,
      lambda batch_num, result: (
        batch_num + 1,
        self._run_batch(epoch, batch_num, data, result),
      ),
      (0, result),
    )
    return result

  def _run_batch(
    self,
    epoch: tf.Tensor,
    batch_num: tf.Tensor,
    data: rows_lib.Rows,
    result: TrainingResult,
  ) -> TrainingResult:
    batch = data.cut(batch_num * self.batch_size, self.batch_size)
    visited = result.sums.num_visited + tf.cast(batch.number, tf.float32)
    result = result._replace(sums=result.sums._replace(num_visited=visited))
    if self.select_fn is None:
      return self._take_step(epoch, batch_num, batch, result)
    batch, state = self.select_fn(batch, result)
    result = result._replace(state=state)
    return tf.cond(
      batch.number > 0,
      lambda: self._take_step(epoch, batch_num, batch, result),
      lambda: result,
    )

  def _take_step(
    self,
    epoch: tf.Tensor,
    batch_num: tf.Tensor,
    batch: rows_lib.Rows,
    result: TrainingResult,
  ) -> TrainingResult:
    with tf.GradientTape() as tape:
      tape.watch(result.trainable)
      output = self.loss_fn(
        result.trainable, batch, epoch, batch_num, result.state
      )
    gradients = find_gradient(tape, output.loss, result.trainable)
    optimizer_state = result.optimizer_state
    if self.learning_rate_fn is not None:
      rate = self.learning_rate_fn(epoch, batch_num)
      optimizer_state = optimizers.with_rate(
        self.optimizer, optimizer_state, rate
      )
    optimizer_state, trainable = self.optimizer.next(
      optimizer_state, result.trainable, gradients
    )
    trainable = tuple(trainable)
    size = tf.cast(batch.number, tf.float32)
    num_examples = size if output.num_examples is None else output.num_examples
    state = result.state if output.state is None else output.state
    if self.after_step_fn is not None:
      state = self.after_step_fn(state, trainable)
    return TrainingResult(
      trainable,
      optimizer_state,
      TrainingSums(
        loss=result.sums.loss + size * output.loss,
        num_correct=result.sums.num_correct + output.num_correct,
        num_examples=result.sums.num_examples + num_examples,
        num_visited=result.sums.num_visited,
      ),
      state,
    )


class NoGradientError(ValueError):
  """No differentiable operation connects a loss to the weights."""


def find_gradient(
  tape: tf.GradientTape, loss: tf.Tensor, weights: tuple[tf.Tensor, ...]
) -> tuple[tf.Tensor, ...]:
  """The gradient of a loss; 0 for weights on which the loss does not depend."""
  found = tape.gradient(loss, weights)
  if weights and all(each is None for each in found):
    raise NoGradientError(
      'one that no differentiable operation connects to the weights'
    )
  return tuple(
    tf.zeros_like(weight) if each is None else each
    for each, weight in zip(found, weights, strict=True)
  )


def initial_optimizer_state(
  optimizer: optimizers.Optimizer, trainable: Sequence[np.ndarray]
) -> Any:
  """The initial state of an optimizer for weights like `trainable`."""
  # A tuple, like the weights: TFF's optimizers compare structures.
  return optimizer.initialize(
    tuple(tf.TensorSpec(array.shape, array.dtype) for array in trainable)
  )


def count_correct(
  logits: tf.Tensor, labels: tf.Tensor, is_counted: tf.Tensor | bool = True
) -> tf.Tensor:
  """The number of correct predictions, float32; only rows with `is_counted`."""
  predictions = tf.argmax(logits, axis=-1, output_type=labels.dtype)
  # Not `==`, which compares Python objects in a TFF computation.
  is_correct = tf.equal(predictions, labels) & is_counted
  return tf.reduce_sum(tf.cast(is_correct, tf.float32))


def cross_entropy(
  logits: tf.Tensor, labels: tf.Tensor, *, offset: tf.Tensor | None = None
) -> BatchOutput:
  """The mean cross-entropy of a batch, and the number of correct predictions.

  `labels` are classes, int32 [batch], or probabilities, float32 [batch,
  classes], whose most probable classes count as correct. `offset` is added to
  the logits in the loss only.
  """
  loss = losses.cross_entropy(logits, labels, offset=offset)
  labels = tf.convert_to_tensor(labels)
  if labels.dtype.is_floating:
    labels = tf.argmax(labels, axis=-1, output_type=tf.int32)
  return BatchOutput(loss, count_correct(logits, labels))


def cosine_decay(
  round_num: tf.Tensor | int, *, initial_value: float, total_rounds: int
) -> tf.Tensor:
  """Cosine decay over the rounds, without warm-up (SemiFL, appendix C.1).

  Round t of T has the value `initial_value * (1 + cos(pi * (t - 1) / T)) / 2`:
  close to 0, but not 0, in round T. Round 0 has the value of round 1.
  """
  elapsed = tf.cast(tf.maximum(round_num - 1, 0), tf.float32)
  return initial_value * 0.5 * (1.0 + tf.cos(math.pi * elapsed / total_rounds))
