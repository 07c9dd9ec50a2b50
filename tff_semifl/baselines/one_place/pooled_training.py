# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Steps on labeled and unlabeled images in one place, with averaged weights.

The global model of the process is the averaged model. The model in training,
the student, is part of the server's state.
"""

import collections
from collections.abc import Callable, Mapping
import dataclasses
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.augment import augmentation
from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.core import federated_process
from tff_semifl.core import method
from tff_semifl.core import optimizers
from tff_semifl.core import server_work
from tff_semifl.core import training_loop
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.models import functional
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds

_Purpose = random_seeds.Purpose


_MOST_DRAWS = 2**31 - 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Steps(settings.Settings):
  """The number of steps, and the batch sizes."""

  total_steps: int = settings.setting(
    2**20,
    'Steps of the run, over which the learning rate follows a cosine for 7/16'
    ' of a half turn.',
    settings.AT_LEAST_1,
  )
  steps_per_round: int = settings.setting(
    1024,
    'Steps of a round, after which the model is evaluated; must divide'
    ' --total_steps.',
    settings.AT_LEAST_1,
  )
  batch_size: int = settings.setting(
    64, 'Labeled images in a step.', settings.AT_LEAST_1
  )
  unlabeled_ratio: int = settings.setting(
    1,
    'Unlabeled images in a step for each labeled one, mu in FixMatch.',
    settings.AT_LEAST_1,
  )

  def __post_init__(self) -> None:
    super().__post_init__()
    if self.total_steps % self.steps_per_round:
      raise settings.SettingError(
        'steps_per_round',
        self.steps_per_round,
        f'must divide total_steps, {self.total_steps}',
      )
    num_drawn = self.total_steps * self.num_unlabeled
    if num_drawn > _MOST_DRAWS:
      raise settings.SettingError(
        'total_steps',
        self.total_steps,
        f'of {self.num_unlabeled} unlabeled images are {num_drawn} images; at'
        f' most {_MOST_DRAWS} can be counted',
      )

  @property
  def num_unlabeled(self) -> int:
    """The number of unlabeled images in a step."""
    return self.batch_size * self.unlabeled_ratio


class StudentState(NamedTuple):
  """The server's state besides the averaged weights.

  `trained` are the student's weights, then the weights of the method's head.
  """

  trained: Any
  optimizer: Any
  memory: Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class PooledTraining:
  """The training of a round, in plain TensorFlow.

  Labeled and unlabeled images of a step come from two endless streams of
  shuffled epochs. Labeled images are also used as unlabeled images.

  Attributes:
    loss_fn: (`PooledStep`, memory) -> the loss, and the memory after the step.
    learning_rate_fn: Number of the step in the whole run, int32 from 0 ->
      learning rate.
    average_decay: Decay of the averaged weights in a step.
    initial_head: Arrays of weights, trained together with the model's weights.
    initial_memory: The method's memory before the first step, a structure of
      arrays.
  """

  classifier: functional.ImageClassifier
  loss_fn: Callable[
    [pooled_method.PooledStep, Any], pooled_method.PooledStepOutput
  ]
  weak_augmentation: augmentation.Augmentation
  strong_augmentation: augmentation.Augmentation
  steps: Steps
  optimizer: tff.learning.optimizers.Optimizer
  learning_rate_fn: Callable[[tf.Tensor], tf.Tensor]
  average_decay: float
  initial_head: tuple[Any, ...] = ()
  initial_memory: Any = ()

  def last_learning_rate(self, round_num: tf.Tensor) -> tf.Tensor:
    """The learning rate of the last step of a round."""
    return self.learning_rate_fn(
      (round_num + 1) * self.steps.steps_per_round - 1
    )

  def initial_state(self) -> StudentState:
    """The state before the first round, in tensors."""
    initial_weights = self.classifier.initial_weights.trainable
    trained = (*initial_weights, *self.initial_head)
    return StudentState(
      trained=tuple(tf.constant(array) for array in trained),
      optimizer=training_loop.initial_optimizer_state(self.optimizer, trained),
      memory=tf.nest.map_structure(tf.constant, self.initial_memory),
    )

  def train(
    self,
    state: StudentState,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    data: Mapping[str, tf.Tensor],
  ) -> tuple[StudentState, functional.ModelWeights, Mapping[str, tf.Tensor]]:
    """Takes the steps of a round.

    `data` has `image`, uint8 [images, height, width, channels], and `label`,
    int32 [images], `sources.UNKNOWN_LABEL` for unlabeled images.
    """
    steps = self.steps
    labeled, unlabeled = _draw_indices(data, context, steps)
    class_shares = _class_shares(data['label'], self.classifier.num_classes)

    def take_step(step_in_round, state, average, sums):
      num = context.round_num * steps.steps_per_round + step_in_round
      with tf.GradientTape() as tape:
        tape.watch(state.trained)
        step = pooled_method.PooledStep(
          classifier=self.classifier,
          batch=pooled_method.Batch(
            labeled=tf.gather(data['image'], labeled[step_in_round]),
            labels=tf.gather(data['label'], labeled[step_in_round]),
            unlabeled=tf.gather(data['image'], unlabeled[step_in_round]),
          ),
          student=weights._replace(trainable=state.trained[: len(average)]),
          teacher=weights._replace(trainable=average),
          head=state.trained[len(average) :],
          weak_augmentation=self.weak_augmentation,
          strong_augmentation=self.strong_augmentation,
          class_shares=class_shares,
          unlabeled_ratio=steps.unlabeled_ratio,
          run_seed=context.seed,
          num=num,
          total_steps=steps.total_steps,
        )
        output = self.loss_fn(step, state.memory)
        method.check_scalar(self.loss_fn, output.loss)
      try:
        gradients = training_loop.find_gradient(
          tape, output.loss, state.trained
        )
      except training_loop.NoGradientError as error:
        raise method.wrong_result(
          self.loss_fn, 'a loss that has a gradient', str(error)
        ) from error
      optimizer_state, trained = self.optimizer.next(
        self.optimizer.set_hparams(
          state.optimizer,
          {optimizers.LEARNING_RATE_KEY: self.learning_rate_fn(num)},
        ),
        state.trained,
        gradients,
      )
      average = optimizers.move_average(
        average, tuple(trained[: len(average)]), self.average_decay
      )
      loss, num_correct = sums
      num_correct += training_loop.count_correct(
        output.labeled_logits, step.labels
      )
      return (
        step_in_round + 1,
        StudentState(tuple(trained), optimizer_state, output.memory),
        average,
        (loss + output.loss, num_correct),
      )

    zero = tf.zeros([])
    _, state, average, (loss, num_correct) = tf.while_loop(
      lambda step_in_round, *_: step_in_round < steps.steps_per_round,
      take_step,
      (0, state, tuple(weights.trainable), (zero, zero)),
    )
    metrics = collections.OrderedDict(
      loss=loss / steps.steps_per_round,
      accuracy=num_correct / (steps.steps_per_round * steps.batch_size),
    )
    return state, weights._replace(trainable=average), metrics


def build_pooled_work(training: PooledTraining) -> server_work.ServerWork:
  """Builds server work with averaged weights, and with the student as state.

  Data are of `pipelines.labeled_type`.
  """

  def train(
    state: StudentState,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    dataset: tf.data.Dataset,
  ):
    return training.train(
      state, weights, context, pipelines.concatenate_chunks(dataset)
    )

  return server_work.ServerWork(initialize=training.initial_state, train=train)


def _draw_indices(
  data: Mapping[str, tf.Tensor],
  context: federated_process.RoundContext,
  steps: Steps,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Indices of labeled and of unlabeled images for the steps of a round.

  Both are int32 [steps, images of a step].
  """

  def draw(num_images, size, purpose):
    # A round is one batch of the stream.
    drawn = random_draws.select_from_stream(
      num_images,
      steps.steps_per_round * size,
      context.round_num,
      random_seeds.stateless_seed(context.seed, purpose),
    )
    return tf.reshape(drawn, [steps.steps_per_round, size])

  has_label = tf.not_equal(data['label'], sources.UNKNOWN_LABEL)
  labeled = tf.cast(tf.where(has_label)[:, 0], tf.int32)
  drawn = draw(tf.shape(labeled)[0], steps.batch_size, _Purpose.SERVER_ORDER)
  unlabeled = draw(
    tf.shape(data['label'])[0], steps.num_unlabeled, _Purpose.FIX_ORDER
  )
  return tf.gather(labeled, drawn), unlabeled


def _class_shares(labels: tf.Tensor, num_classes: int) -> tf.Tensor:
  """The share of each class among known labels, float32 [classes]."""
  # `tf.one_hot` makes zeros of unknown labels.
  counts = tf.reduce_sum(tf.one_hot(labels, num_classes), axis=0)
  return counts / tf.reduce_sum(counts)
