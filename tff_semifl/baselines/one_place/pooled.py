# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Semi-supervised learning in one place: the baselines of SemiFL's Table 1.

Defaults are from https://github.com/google-research/fixmatch. The student, the
model in training, is part of the server's state. The global model of the
process is a moving average of the student's weights.
"""

import collections
from collections.abc import Mapping, Sequence
import dataclasses
import functools
import math
from typing import Any, NamedTuple

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import system
from tff_semifl.baselines.one_place import centralized
from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.core import federated_process
from tff_semifl.core import method as method_lib
from tff_semifl.core import optimizers
from tff_semifl.core import server_work
from tff_semifl.core import training_loop
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.models import functional
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds

_HALF_TURNS = 7 / 16
_MOST_DRAWS = 2**31 - 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Steps(settings.Settings):
  """The numbers of steps, and the batch sizes."""

  total_steps: int = settings.setting(
    2**20,
    'Steps of the run, in which the learning rate follows 7/16 of a half turn'
    ' of a cosine.',
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
    'Unlabeled images in a step for each labeled image, mu in FixMatch.',
    settings.AT_LEAST_1,
  )

  def __post_init__(self) -> None:
    super().__post_init__()
    if self.total_steps % self.steps_per_round:
      raise self.error(
        'steps_per_round', f'must divide total_steps, {self.total_steps}'
      )
    num_drawn = self.total_steps * self.num_unlabeled
    if num_drawn > _MOST_DRAWS:
      raise self.error(
        'total_steps',
        f'of {self.num_unlabeled} unlabeled images are {num_drawn} images; at'
        f' most {_MOST_DRAWS} can be counted',
      )

  @property
  def num_unlabeled(self) -> int:
    """The number of unlabeled images in a step."""
    return self.batch_size * self.unlabeled_ratio


@dataclasses.dataclass(frozen=True, kw_only=True)
class KernelDecay(settings.Settings):
  """Gradient descent with Nesterov momentum and weight decay of kernels."""

  learning_rate: float = settings.setting(
    0.03, 'Learning rate of the first step.', settings.ABOVE_0
  )
  momentum: float = settings.setting(
    0.9, 'Nesterov momentum.', settings.BELOW_1
  )
  weight_decay: float = settings.setting(
    5e-4,
    'Weight decay of kernels; biases and normalizations do not decay.',
    settings.AT_LEAST_0,
  )

  def build(
    self, trainable_names: Sequence[str], num_others: int
  ) -> optimizers.Optimizer:
    """The optimizer of a model's weights and a head's kernels and biases."""
    return optimizers.build_nesterov_sgd(
      momentum=self.momentum,
      weight_decay=self.weight_decay,
      clip_norm=None,
      is_decayed=[
        *('kernel' in name.rpartition('/')[2] for name in trainable_names),
        *(index % 2 == 0 for index in range(num_others)),
      ],
    )


class StudentState(NamedTuple):
  """The server's state; `trained` are the weights of student and head."""

  trained: Any
  optimizer: Any
  memory: Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pooled(system.System):
  """Semi-supervised training in one place, without clients."""

  labels = system.Labels.AT_SERVER_WITH_POOL
  lengths = ('total_steps',)

  method: pooled_method.PooledMethod
  steps: Steps = Steps()
  optimizer: KernelDecay = KernelDecay()
  average_decay: float = settings.setting(
    0.999,
    'Decay per step of the moving average of weights, which is evaluated and'
    ' exported; 0 takes the weights of the last step.',
    settings.BELOW_1,
  )

  def build(self, ingredients: system.Ingredients) -> system.Process:
    return centralized.build_process_without_clients(
      ingredients,
      self.build_server_work(ingredients),
      learning_rate_fn=lambda round_num: self._learning_rate(
        (round_num + 1) * self.steps.steps_per_round - 1
      ),
    )

  def build_server_work(
    self, ingredients: system.Ingredients
  ) -> server_work.ServerWork:
    """Builds the server work; `UNKNOWN_LABEL` marks unlabeled images."""
    classifier = ingredients.classifier
    head = self.method.create_head(classifier, ingredients.seed)
    memory = self.method.create_memory(classifier)
    trained = (*classifier.initial_weights.trainable, *head)
    optimizer = self.optimizer.build(classifier.trainable_names, len(head))
    return server_work.ServerWork(
      initialize=lambda: StudentState(
        trained=tuple(map(tf.constant, trained)),
        optimizer=training_loop.initial_optimizer_state(optimizer, trained),
        memory=tf.nest.map_structure(tf.constant, memory),
      ),
      train=functools.partial(self._train, ingredients, optimizer),
    )

  def _train(
    self,
    ingredients: system.Ingredients,
    optimizer: optimizers.Optimizer,
    state: StudentState,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    dataset: tf.data.Dataset,
  ) -> tuple[StudentState, functional.ModelWeights, Mapping[str, tf.Tensor]]:
    """Takes a round's steps; unlabeled batches are drawn from all images."""
    data, steps = pipelines.concatenate_chunks(dataset), self.steps
    labeled, unlabeled = _draw_indices(data, context, steps)
    # `tf.one_hot` is zero for unknown labels.
    known = tf.one_hot(data['label'], ingredients.classifier.num_classes)
    counts = tf.reduce_sum(known, axis=0)
    shares = counts / tf.reduce_sum(counts)

    def take_step(step_in_round, state, average, sums):
      num = context.round_num * steps.steps_per_round + step_in_round
      with tf.GradientTape() as tape:
        tape.watch(state.trained)
        step = pooled_method.PooledStep(
          classifier=ingredients.classifier,
          labeled=tf.gather(data['image'], labeled[step_in_round]),
          labels=tf.gather(data['label'], labeled[step_in_round]),
          unlabeled=tf.gather(data['image'], unlabeled[step_in_round]),
          student=weights._replace(trainable=state.trained[: len(average)]),
          teacher=weights._replace(trainable=average),
          head=state.trained[len(average) :],
          weak_augmentation=ingredients.weak_augmentation,
          strong_augmentation=ingredients.strong_augmentation,
          class_shares=shares,
          unlabeled_ratio=steps.unlabeled_ratio,
          run_seed=context.seed,
          num=num,
          total_steps=steps.total_steps,
        )
        output = self.method.loss(step, state.memory)
        method_lib.check_scalar(self.method.loss, output.loss)
      try:
        gradients = training_loop.find_gradient(
          tape, output.loss, state.trained
        )
      except training_loop.NoGradientError as error:
        raise method_lib.wrong_result(
          self.method.loss, 'a loss that has a gradient', str(error)
        ) from error
      optimizer_state, trained = optimizer.next(
        optimizers.with_rate(
          optimizer, state.optimizer, self._learning_rate(num)
        ),
        state.trained,
        gradients,
      )
      average = move_average(
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

  def _learning_rate(self, step: tf.Tensor) -> tf.Tensor:
    share = tf.cast(step, tf.float32) / self.steps.total_steps
    cosine = tf.cos(math.pi * _HALF_TURNS * share)
    return self.optimizer.learning_rate * cosine

  @property
  def summary(self) -> str:
    return f'{super().summary} {system.summarize(self.method)}'

  @property
  def uses_strong_views(self) -> bool:  # pyrefly: ignore[bad-override]
    return self.method.uses_strong_augmentation

  @property
  def total_rounds(self) -> int:
    return self.steps.total_steps // self.steps.steps_per_round - 1

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    del num_labeled, client_sizes
    return system.Steps(self.steps.steps_per_round, 0)


def _draw_indices(
  data: Mapping[str, tf.Tensor],
  context: federated_process.RoundContext,
  steps: Steps,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Indices of each step's labeled and unlabeled images, int32 [steps, n]."""

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
  drawn = draw(
    tf.shape(labeled)[0], steps.batch_size, random_seeds.Purpose.SERVER_ORDER
  )
  unlabeled = draw(
    tf.shape(data['label'])[0],
    steps.num_unlabeled,
    random_seeds.Purpose.FIX_ORDER,
  )
  return tf.gather(labeled, drawn), unlabeled


def move_average(average: Any, weights: Any, decay: float | tf.Tensor) -> Any:
  """The moving averages `decay * average + (1 - decay) * weights` of tensors.

  (Tarvainen, Valpola. Mean teachers are better role models: Weight-averaged
  consistency targets improve semi-supervised deep learning results. NeurIPS
  2017.)
  """
  return tf.nest.map_structure(
    lambda old, new: decay * old + (1.0 - decay) * new, average, weights
  )
