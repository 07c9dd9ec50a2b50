# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD: a round is one step along the clients' mean gradient.

Each client sends the gradient of a batch; the server adds its own gradient and
takes the step.
"""

import abc
import collections
from collections.abc import Mapping, Sequence
import dataclasses
import functools
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.algorithms import round_parts
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.augment import augmentation
from tff_semifl.core import client_work
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.core import method
from tff_semifl.core import optimizers
from tff_semifl.core import pseudo_labels
from tff_semifl.core import server_work
from tff_semifl.core import training_loop
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.privacy import aggregator_settings
from tff_semifl.privacy import aggregators
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds

_WITHOUT_PRIVACY = aggregator_settings.choose_without_privacy(
  'the images that a client of federated SGD trains on depend on how often it'
  ' took part before, which is secret, and epsilon is not computed for that'
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Aggregation(aggregator_settings.Aggregation):
  """The aggregation of gradients, which is not private."""

  aggregator: aggregator_settings.Aggregator = _WITHOUT_PRIVACY


@dataclasses.dataclass(frozen=True, kw_only=True)
class GradientSteps(system.System):
  """Base of systems whose clients send the gradient of one batch."""

  measures_pseudo_labels = True
  clients_know_participation = True

  cohorts: training_settings.Cohorts = training_settings.Cohorts()
  rounds: training_settings.CosineSchedule = training_settings.CosineSchedule()
  client: training_settings.ClientBatches = training_settings.ClientBatches()
  server: training_settings.ServerBatches = training_settings.ServerBatches()
  optimizer: training_settings.ClippedNesterov = (
    training_settings.ClippedNesterov()
  )
  averaging: Aggregation = Aggregation()

  @abc.abstractmethod
  def train_client(
    self,
    ingredients: system.Ingredients,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> client_work.LocalTraining:
    """The client update: the gradient of one batch, from `report`.

    `data` is of `pipelines.client_with_participation_type`.
    """

  @abc.abstractmethod
  def build_server_work(
    self, ingredients: system.Ingredients
  ) -> 'GradientServerWork':
    """Builds the server work."""

  @property
  def guides(self) -> method.Guides:
    """The guides, whose messages clients receive; none by default."""
    return {}

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    aggregator = aggregators.create(
      self.averaging.aggregator.build(
        self.cohorts.clients_per_round, ingredients.privacy_key
      ),
      ingredients.classifier.weights_type.trainable,
    )
    work = client_work.build_client_work(
      ingredients.classifier,
      functools.partial(self.train_client, ingredients),
      data_type=pipelines.client_with_participation_type(
        ingredients.classifier.image_shape
      ),
      optimizer=self.optimizer.build(),
      max_update_norm_ratio=self.averaging.max_update_norm_ratio,
      measure_weight_diversity=aggregator.is_weighted,
      return_given_labels=ingredients.returns_given_labels,
    )
    of_server = self.build_server_work(ingredients)
    return composition.build(
      round_parts.build_round_parts(
        ingredients,
        work,
        server_work.ServerWork(
          initialize=of_server.initialize, train=of_server.train
        ),
        learning_rate_fn=self.rounds.create_learning_rate_fn(),
        aggregator=aggregator,
        guides=self.guides,
      ),
      gradient_round,
    )

  def select_batch(
    self, node: federated_process.Node, data: Mapping[str, tf.Tensor]
  ) -> tf.Tensor:
    """The positions of a client's batch among its images, int32 [batch].

    A client takes one batch in each round in which it takes part, and each
    image once an epoch; an epoch's last batch may be smaller.
    """
    return random_draws.select_batch(
      tf.shape(data['image'])[0],
      self.client.client_batch_size,
      data['earlier_rounds'],
      random_seeds.stateless_seed(
        node.context.seed, random_seeds.Purpose.FIX_ORDER, node.key
      ),
    )

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    return system.Steps(min(num_labeled, 1), min(len(client_sizes), 1))


def report(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  images: tf.Tensor,
  labels: tf.Tensor,
  *,
  num_images: tf.Tensor,
  node: federated_process.Node,
  optimizer_state: Any,
  given_labels: pseudo_labels.GivenLabels,
) -> client_work.LocalTraining:
  """A client's `LocalTraining` whose update is the gradient of a batch.

  `images`, uint8 [selected, height, width, channels], possibly none, have
  `labels`, int32 [selected]. The loss is the sum of their cross-entropies,
  divided by `num_images`, the size of the batch before the selection.
  """
  num_selected = tf.cast(tf.shape(images)[0], tf.float32)
  total_images = tf.cast(num_images, tf.float32)

  def compute_gradient():
    with tf.GradientTape() as tape:
      tape.watch(weights.trainable)
      logits = training_loop.train_logits(
        classifier,
        weights,
        images,
        node.seed(random_seeds.Purpose.DROPOUT_MASK),
      )
      output = training_loop.cross_entropy(logits, labels)
      total = num_selected * output.loss
      loss = total / total_images
    gradient = tape.gradient(loss, weights.trainable)
    return tuple(gradient), total, output.num_correct

  gradient, loss_sum, num_correct = tf.cond(
    num_selected > 0,
    compute_gradient,
    lambda: (tuple(map(tf.zeros_like, weights.trainable)), 0.0, 0.0),
  )
  training = training_loop.TrainingResult(
    tuple(w - g for w, g in zip(weights.trainable, gradient, strict=True)),
    optimizer_state,
    training_loop.TrainingSums(
      loss=loss_sum,
      num_correct=num_correct,
      num_examples=num_selected,
      num_visited=total_images,
    ),
  )
  return client_work.labeled_in_steps(training, num_images, given_labels)


def gradient_round(
  p: composition.Parts,
  state: tff.Value,
  server_data: tff.Value,
  client_data: tff.Value,
  memories: tff.Value | None = None,
) -> federated_process.RoundOutput:
  """Federated SGD: a round is one step of the global model.

  The gradient of the step is the gradient of the server's batch plus the mean
  of the clients' updates, which are gradients of their batches. The server work
  is a `GradientServerWork`; the finalizer is not used.
  """

  def zero_if_unused(is_used, gradient):
    return tuple(tf.where(is_used, g, tf.zeros_like(g)) for g in gradient)

  context = p.begin(state)
  received = p.send(state, context, server_data)
  trained = p.clients(received, client_data, memories)
  mean = p.mean(state, trained)
  gradient = composition.run(zero_if_unused, mean.is_used, mean.update)
  stepped = p.server(
    state, state.global_model_weights, context, server_data, gradient
  )
  return p.finish(
    state,
    context,
    trained,
    {'server': stepped.measurements, 'aggregator': mean.measurements},
    global_model_weights=p.with_statistics(stepped.weights, server_data),
    aggregator=mean.state,
    server_work=stepped.state,
  )


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class GradientServerWork:
  """A `ServerWork` that takes a step with server and client gradients.

  The gradient of the step is the server's plus the mean of the clients', which
  is the last argument. `pretraining_fn` replaces the step in round 0, before
  clients take part, and passes on the optimizer's state; by default round 0 has
  a step, too.
  """

  classifier: functional.ImageClassifier
  augmentation_fn: augmentation.Augmentation
  optimizer: tff.learning.optimizers.Optimizer
  batch_size: int
  pretraining_fn: server_work.SupervisedTrainingFn | None = None

  def initialize(self) -> Any:
    """The initial state of the optimizer."""
    return training_loop.initial_optimizer_state(
      self.optimizer, self.classifier.initial_weights.trainable
    )

  def train(
    self,
    state: Any,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    dataset: tf.data.Dataset,
    clients_gradient: tuple[tf.Tensor, ...],
  ) -> tuple[Any, functional.ModelWeights, Mapping[str, tf.Tensor]]:
    """Takes the step of a round."""
    data = pipelines.concatenate_chunks(dataset)
    state = self.optimizer.set_hparams(
      state, {optimizers.LEARNING_RATE_KEY: context.learning_rate}
    )
    arguments = weights, context, data, state
    step = functools.partial(self._take_step, *arguments, clients_gradient)
    if self.pretraining_fn is None:
      new_state, trainable, metrics = step()
    else:
      new_state, trainable, metrics = tf.cond(
        context.round_num > 0,
        step,
        functools.partial(_pretrain, self.pretraining_fn, *arguments),
      )
    return new_state, weights._replace(trainable=trainable), metrics

  def _take_step(self, weights, context, data, state, clients_gradient):
    node, purpose = federated_process.Node(context), random_seeds.Purpose
    indices = random_draws.select_batch(
      tf.shape(data['label'])[0],
      self.batch_size,
      context.round_num,  # The server trains in each round.
      random_seeds.stateless_seed(context.seed, purpose.SERVER_ORDER),
    )
    gradient, output = training_loop.cross_entropy_gradient(
      self.classifier,
      weights,
      self.augmentation_fn(
        tf.gather(data['image'], indices),
        node.seed(purpose.SERVER_AUGMENTATION),
      ),
      tf.gather(data['label'], indices),
      node.seed(purpose.DROPOUT_MASK),
    )
    state, trainable = self.optimizer.next(
      state,
      weights.trainable,
      tuple(a + b for a, b in zip(gradient, clients_gradient, strict=True)),
    )
    size = tf.cast(tf.shape(indices)[0], tf.float32)
    metrics = collections.OrderedDict(
      loss=output.loss, accuracy=output.num_correct / size
    )
    return state, tuple(trainable), metrics


def _pretrain(pretraining_fn, *arguments):
  result = pretraining_fn(*arguments)
  return result.optimizer_state, result.trainable, result.sums.means()
