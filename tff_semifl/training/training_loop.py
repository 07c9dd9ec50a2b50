# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Epochs of minibatch SGD as one TensorFlow graph, for server and clients."""

from collections.abc import Callable, Sequence
import math
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.training import given_labels as given_labels_lib
from tff_semifl.training import optimizers
from tff_semifl.training import rows as rows_lib


class BatchOutput(NamedTuple):
  """The result of a loss function for a batch.

  Attributes:
    loss: Scalar, to be minimized; of the whole batch.
    num_correct: Scalar, the number of correct predictions in the batch.
    num_examples: Scalar, the number of examples that contribute to the loss;
      None for all.
    given_labels: The pseudo-labels that the loss function made, or None.
  """

  loss: tf.Tensor
  num_correct: tf.Tensor
  num_examples: tf.Tensor | None = None
  given_labels: given_labels_lib.GivenLabels | None = None


class Selection(NamedTuple):
  """The examples of an epoch or a batch that are trained on.

  Attributes:
    rows: The selected examples.
    given_labels: The pseudo-labels, of all examples, by which these were
      selected; or None.
  """

  rows: rows_lib.Rows
  given_labels: given_labels_lib.GivenLabels | None = None


class TrainingSums(NamedTuple):
  """Sums over all batches of all epochs, float32 scalars.

  Attributes:
    loss: Batch losses, each times the size of its batch.
    num_correct: Correct predictions.
    num_examples: Examples that count in the loss.
    num_visited: Examples, selected or not.
  """

  loss: tf.Tensor
  num_correct: tf.Tensor
  num_examples: tf.Tensor
  num_visited: tf.Tensor


class TrainingResult(NamedTuple):
  """The outcome of `train`.

  Attributes:
    given_labels: The pseudo-labels of all epochs, if they are kept.
    state: The further state after the last step.
  """

  trainable: tuple[tf.Tensor, ...]
  optimizer_state: Any
  sums: TrainingSums
  given_labels: given_labels_lib.KeptLabels = given_labels_lib.NOT_KEPT
  state: Any = ()


def train(
  trainable: tuple[tf.Tensor, ...],
  optimizer_state: Any,
  *,
  optimizer: tff.learning.optimizers.Optimizer,
  num_epochs: float,
  batch_size: int | tf.Tensor,
  epoch_data_fn: Callable[[tf.Tensor, TrainingResult], Selection],
  loss_fn: Callable[
    [tuple[tf.Tensor, ...], rows_lib.Rows, tf.Tensor, tf.Tensor, Any],
    BatchOutput,
  ],
  select_fn: Callable[[rows_lib.Rows, TrainingResult], Selection] | None = None,
  after_step_fn: Callable[[Any, tuple[tf.Tensor, ...]], Any] | None = None,
  learning_rate_fn: Callable[[tf.Tensor, tf.Tensor], tf.Tensor] | None = None,
  given_labels: given_labels_lib.KeptLabels = given_labels_lib.NOT_KEPT,
  state: Any = (),
) -> TrainingResult:
  """Trains for some epochs, including their smaller last batches.

  Without epochs or examples all arguments are returned unchanged.

  Args:
    trainable: Weights to start from.
    optimizer_state: State of `optimizer` to start from.
    optimizer: Takes one step a batch.
    num_epochs: Number of epochs. A number below 1 is a fraction of the batches
      of one epoch, rounded up; others are rounded up to whole epochs.
    batch_size: Examples in a batch; the last of an epoch may have fewer.
    epoch_data_fn: (epoch number, training so far) -> the examples of the epoch,
      in order.
    loss_fn: (trainable, batch, epoch number, batch number, state) ->
      `BatchOutput`.
    select_fn: (batch, training so far) -> the examples of the batch to train
      on, by default all. If there are none, no step is taken.
    after_step_fn: (state, trainable) -> the state after a step; by default
      unchanged.
    learning_rate_fn: (epoch number, batch number) -> learning rate; by default
      that of the optimizer's state.
    given_labels: Earlier pseudo-labels, to be extended.
    state: Further state to start from, any structure of tensors.

  Raises:
    ValueError: If `num_epochs` is negative or not finite.
  """
  if not 0 <= num_epochs < math.inf:
    raise ValueError(
      f'`num_epochs` must be a finite number, at least 0; found {num_epochs}.'
    )

  def run_epoch(epoch: tf.Tensor, result: TrainingResult):
    data, given = epoch_data_fn(epoch, result)
    result = _keep_labels(result, given)
    num_batches = -(-data.number // batch_size)
    if num_epochs < 1:
      # In float64, so that 0.2 of five batches is one.
      share = num_epochs * tf.cast(num_batches, tf.float64)
      num_batches = tf.cast(tf.math.ceil(share), tf.int32)

    def take_step(
      batch_num: tf.Tensor, batch: rows_lib.Rows, result: TrainingResult
    ):
      with tf.GradientTape() as tape:
        tape.watch(result.trainable)
        output = loss_fn(
          result.trainable, batch, epoch, batch_num, result.state
        )
      gradients = find_gradient(tape, output.loss, result.trainable)
      optimizer_state = result.optimizer_state
      if learning_rate_fn is not None:
        rate = learning_rate_fn(epoch, batch_num)
        optimizer_state = optimizer.set_hparams(
          optimizer_state, {optimizers.LEARNING_RATE_KEY: rate}
        )
      optimizer_state, trainable = optimizer.next(
        optimizer_state, result.trainable, gradients
      )
      size = tf.cast(batch.number, tf.float32)
      num_examples = (
        size if output.num_examples is None else output.num_examples
      )
      sums = TrainingSums(
        loss=result.sums.loss + size * output.loss,
        num_correct=result.sums.num_correct + output.num_correct,
        num_examples=result.sums.num_examples + num_examples,
        num_visited=result.sums.num_visited,
      )
      trainable, state = tuple(trainable), result.state
      if after_step_fn is not None:
        state = after_step_fn(state, trainable)
      result = TrainingResult(
        trainable, optimizer_state, sums, result.given_labels, state
      )
      return _keep_labels(result, output.given_labels)

    def run_batch(batch_num: tf.Tensor, result: TrainingResult):
      batch = data.cut(batch_num * batch_size, batch_size)
      visited = result.sums.num_visited + tf.cast(batch.number, tf.float32)
      result = result._replace(sums=result.sums._replace(num_visited=visited))
      if select_fn is None:
        return batch_num + 1, take_step(batch_num, batch, result)
      batch, given = select_fn(batch, result)
      result = _keep_labels(result, given)
      return batch_num + 1, tf.cond(
        batch.number > 0,
        lambda: take_step(batch_num, batch, result),
        lambda: result,
      )

    _, result = tf.while_loop(
      lambda batch_num, _: batch_num < num_batches, run_batch, (0, result)
    )
    return epoch + 1, result

  zero = tf.zeros([], tf.float32)
  result = TrainingResult(
    tuple(trainable),
    optimizer_state,
    TrainingSums(zero, zero, zero, zero),
    given_labels,
    state,
  )
  _, result = tf.while_loop(
    lambda epoch, _: epoch < math.ceil(num_epochs), run_epoch, (0, result)
  )
  return result


class NoGradientError(ValueError):
  """A loss does not depend on any weight by differentiable operations."""


def find_gradient(
  tape: tf.GradientTape, loss: tf.Tensor, weights: tuple[tf.Tensor, ...]
) -> tuple[tf.Tensor, ...]:
  """The gradient of a loss, 0 for weights that it does not depend on.

  Raises:
    NoGradientError: If it depends on none.
  """
  found = tape.gradient(loss, weights)
  if weights and all(each is None for each in found):
    raise NoGradientError(
      'one that no differentiable operation connects to the weights'
    )
  return tuple(
    tf.zeros_like(weight) if each is None else each
    for each, weight in zip(found, weights, strict=True)
  )


def _keep_labels(
  result: TrainingResult, given: given_labels_lib.GivenLabels | None
) -> TrainingResult:
  if given is None:
    return result
  return result._replace(
    given_labels=given_labels_lib.extend(result.given_labels, given)
  )


def initial_optimizer_state(
  optimizer: tff.learning.optimizers.Optimizer,
  trainable: Sequence[np.ndarray],
) -> Any:
  """The state of an optimizer before the first step.

  `trainable` are arrays of the shapes and dtypes of its weights.
  """
  # A tuple as the weights: TFF's optimizers compare structures.
  return optimizer.initialize(
    tuple(tf.TensorSpec(array.shape, array.dtype) for array in trainable)
  )


def count_correct(
  logits: tf.Tensor,
  labels: tf.Tensor,
  is_counted: tf.Tensor | bool = True,
) -> tf.Tensor:
  """The number of correct predictions, a float32 scalar.

  Args:
    logits: float [batch, classes].
    labels: int [batch].
    is_counted: bool [batch], whether a row counts; by default all do.
  """
  predictions = tf.argmax(logits, axis=-1, output_type=labels.dtype)
  # Not `==`, which compares Python objects in a TFF computation.
  is_correct = tf.equal(predictions, labels) & is_counted
  return tf.reduce_sum(tf.cast(is_correct, tf.float32))
