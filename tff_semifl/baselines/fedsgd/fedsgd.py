# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD with FixMatch's loss: clients send gradients of one batch.

    each round, with the server's and each client's next batch:
      server: gradient of CE(weak(labeled batch))
      client: labels = confident predictions for weak(batch)
              gradient of CE(strong(batch), labels) / batch size
      weights = step(server's gradient + mean of clients' gradients)

`FedSGDAsInSemiFL` reproduces the program of SemiFL's authors for Figure 2.
"""

import collections
from collections.abc import Mapping, Sequence
import dataclasses
import functools
import math
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.algorithms import gradient_steps
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.baselines.fedsgd import union_images
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.core import optimizers
from tff_semifl.core import pseudo_labels
from tff_semifl.core import server_work
from tff_semifl.core import training_loop
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedSGD(gradient_steps.GradientSteps):
  """Federated SGD: a round is one step along server and client gradients."""

  server: training_settings.ServerBatches = training_settings.ServerBatches()

  def label(
    self,
    ingredients: system.Ingredients,
    weights: functional.ModelWeights,
    node: federated_process.Node,
    data: Mapping[str, tf.Tensor],
    batch: tf.Tensor,
  ) -> tuple[pseudo_labels.PseudoLabels, Mapping[str, Any]]:
    """Labels the weakly augmented images of a batch, as FixMatch does."""
    weak = ingredients.weak_augmentation(
      tf.gather(data['image'], batch), node.seed(random_seeds.Purpose.WEAK_VIEW)
    )
    return pseudo_labels.from_logits(
      ingredients.classifier.batch_logits(weights, weak)
    ), {}

  def train_server(
    self,
    ingredients: system.Ingredients,
    optimizer: optimizers.Optimizer,
    state: Any,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    dataset: tf.data.Dataset,
    clients_gradient: Sequence[tf.Tensor],
  ) -> tuple[Any, functional.ModelWeights, Mapping[str, tf.Tensor]]:
    """A step along the sum of the server's and the clients' mean gradient."""
    data = pipelines.concatenate_chunks(dataset)
    node, purpose = federated_process.Node(context), random_seeds.Purpose
    indices = gradient_steps.select_batch(
      tf.shape(data['label'])[0],
      self.server.filled_batch_size,
      context.round_num,  # The server trains in each round.
      random_seeds.stateless_seed(context.seed, purpose.SERVER_ORDER),
    )
    images = ingredients.weak_augmentation(
      tf.gather(data['image'], indices),
      node.seed(purpose.SERVER_AUGMENTATION),
    )
    gradient, output = gradient_steps.cross_entropy_gradient(
      ingredients.classifier,
      weights,
      images,
      tf.gather(data['label'], indices),
      node.seed(purpose.DROPOUT_MASK),
    )
    state, trainable = optimizer.next(
      optimizers.with_rate(optimizer, state, context.learning_rate),
      weights.trainable,
      tuple(a + b for a, b in zip(gradient, clients_gradient, strict=True)),
    )
    number = tf.cast(tf.size(indices), tf.float32)
    metrics = collections.OrderedDict(
      loss=output.loss, accuracy=output.num_correct / number
    )
    return state, weights._replace(trainable=tuple(trainable)), metrics


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedSGDAsInSemiFL(system.System):
  """Federated SGD as in SemiFL's Figure 2: batches mix images of clients.

  The authors' program for Figure 2 is no longer in their repository. In a real
  federation, clients would have to send their images: use `FedSGD` instead.
  """

  measures_pseudo_labels = True
  all_clients_take_part = True
  gathers_images = True

  rounds: training_settings.CosineSchedule = training_settings.CosineSchedule()
  client: training_settings.ClientBatches = training_settings.ClientBatches()
  server: training_settings.ServerBatches = training_settings.ServerBatches()
  confidence: training_settings.Confidence = training_settings.Confidence()
  optimizer: training_settings.ClippedNesterov = (
    training_settings.ClippedNesterov()
  )
  clients_per_step: int = settings.setting(
    10,
    'Clients whose images form a batch; fewer if fewer have images left in the'
    ' epoch.',
    settings.AT_LEAST_1,
  )

  def build(self, ingredients: system.Ingredients) -> system.Process:
    classifier, optimizer = ingredients.classifier, self.optimizer.build()
    return composition.build(
      composition.Parts(
        classifier=classifier,
        seed=ingredients.seed,
        learning_rate_fn=self.rounds.create_learning_rate_fn(),
        server_work=server_work.ServerWork(
          initialize=lambda: training_loop.initial_optimizer_state(
            optimizer, classifier.initial_weights.trainable
          ),
          train=functools.partial(self._train, ingredients, optimizer),
        ),
        computes_statistics=ingredients.computes_statistics,
      ),
      union_round,
      returns_given_labels=ingredients.returns_given_labels,
    )

  def _train(
    self,
    ingredients: system.Ingredients,
    optimizer: optimizers.Optimizer,
    state: Any,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    server_data: tf.data.Dataset,
    gathered: union_images.ClientImages,
  ) -> tuple[Any, functional.ModelWeights, Mapping[str, Any]]:
    """Takes steps until every image of every client has been used.

        S, U = a batch of the server, and of each of `clients_per_step` clients
        loss = CE(weak(S)) + (CE(strong(U), labels) if any label is confident)

    The labels are predictions for weak(U). The batches weak(S), weak(U) and
    strong(U) are normalized separately.
    """
    classifier, purpose = ingredients.classifier, random_seeds.Purpose
    labeled = pipelines.concatenate_chunks(server_data)
    node = federated_process.Node(context)
    num_batches = -(-gathered.num_images // self.client.client_batch_size)

    def find_gradient(model, images, labels, *keys):
      """The gradient, and sums: loss, correct predictions, examples."""
      gradient, output = gradient_steps.cross_entropy_gradient(
        classifier,
        model,
        images,
        labels,
        node.seed(purpose.DROPOUT_MASK, *keys),
      )
      number = tf.cast(tf.shape(labels)[0], tf.float32)
      return gradient, tf.stack(
        [number * output.loss, output.num_correct, number]
      )

    def train_on_server(model, step):
      indices = random_draws.select_from_stream(
        tf.shape(labeled['label'])[0],
        self.server.filled_batch_size,
        step,
        node.seed(purpose.SERVER_ORDER),
      )
      images = ingredients.weak_augmentation(
        tf.gather(labeled['image'], indices),
        node.seed(purpose.SERVER_AUGMENTATION, step),
      )
      labels = tf.gather(labeled['label'], indices)
      return find_gradient(model, images, labels, step, 0)

    def train_on_clients(model, indices, step):
      images = tf.gather(gathered.image, indices)
      weak = ingredients.weak_augmentation(
        images, node.seed(purpose.WEAK_VIEW, step)
      )
      labels = pseudo_labels.from_logits(classifier.batch_logits(model, weak))
      is_confident = labels.confidences >= self.confidence.confidence_threshold

      def train_on_all():
        strong = ingredients.strong_augmentation(
          images, node.seed(purpose.STRONG_VIEW, step)
        )
        return find_gradient(model, strong, labels.labels, step, 1)

      gradient, sums = tf.cond(
        tf.reduce_any(is_confident),
        train_on_all,
        lambda: (tuple(map(tf.zeros_like, model.trainable)), tf.zeros([3])),
      )
      given = pseudo_labels.give_at_once(indices, labels.labels, is_confident)
      return gradient, sums, given

    def take_step(step, num_left, state, trainable, sums, given):
      model = weights._replace(trainable=trainable)
      server_gradient, server_sums = train_on_server(model, step)
      cohort = union_images.draw_cohort(
        num_left,
        self.clients_per_step,
        random_draws.fold_in(node.seed(purpose.COHORT), step),
      )
      indices = union_images.find_images(
        cohort,
        tf.gather(num_batches - num_left, cohort),
        gathered.num_images,
        self.client.client_batch_size,
      )
      client_gradient, client_sums, given_now = train_on_clients(
        model, indices, step
      )
      state, trainable = optimizer.next(
        state, trainable, tuple(map(tf.add, server_gradient, client_gradient))
      )
      return (
        step + 1,
        tf.tensor_scatter_nd_sub(
          num_left, cohort[:, tf.newaxis], tf.ones_like(cohort)
        ),
        state,
        tuple(trainable),
        (sums[0] + server_sums, sums[1] + client_sums),
        given.extend(given_now),
      )

    *_, state, trainable, (server_sums, client_sums), given = tf.while_loop(
      lambda step, num_left, *_: tf.reduce_any(num_left > 0),
      take_step,
      (
        0,
        num_batches,
        optimizers.with_rate(optimizer, state, context.learning_rate),
        tuple(weights.trainable),
        (tf.zeros([3]), tf.zeros([3])),
        pseudo_labels.no_given_labels(),
      ),
    )
    loss, num_correct, num_examples = tf.unstack(server_sums)
    metrics = collections.OrderedDict(
      client=union_images.summarize_clients(
        client_sums, given, gathered.num_images
      ),
      server=collections.OrderedDict(
        loss=loss / num_examples, accuracy=num_correct / num_examples
      ),
      given_labels=given,
    )
    return state, weights._replace(trainable=trainable), metrics

  def check_num_clients(self, num_clients: int) -> None:
    if self.clients_per_step > num_clients:
      raise self.error(
        'clients_per_step',
        f'there are {num_clients} clients; a step can have at most as many',
      )

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    """A lower bound: a step may have fewer than `clients_per_step` clients."""
    del num_labeled  # Each step has a batch of labeled images.
    batches = [
      math.ceil(size / self.client.client_batch_size) for size in client_sizes
    ]
    steps = max([math.ceil(sum(batches) / self.clients_per_step), *batches])
    return system.Steps(steps, max(batches))


def union_round(
  p: composition.Parts,
  state: tff.Value,
  server_data: tff.Value,
  client_data: tff.Value,
  *,
  returns_given_labels: bool,
) -> federated_process.RoundOutput:
  """A round that is one epoch over all clients' images.

  Round 0 has no clients and no steps.
  """
  context = p.begin(state)
  gathered = union_images.build_gathering(p.classifier.image_shape)(client_data)
  trained = p.server(
    state, state.global_model_weights, context, server_data, gathered
  )
  metrics = trained.measurements
  given_labels = ()
  if returns_given_labels:
    given_labels = composition.run(
      union_images.select_own,
      tff.federated_broadcast(metrics.given_labels),
      tff.federated_broadcast(gathered.client_id),
      tff.federated_broadcast(gathered.num_images),
      client_data,
    )
  return p.finish(
    state,
    context,
    None,
    server_data,
    {
      'client': metrics.client,
      'server': metrics.server,
      'aggregator': tff.federated_value((), tff.SERVER),
    },
    global_model_weights=p.with_statistics(trained.weights, server_data),
    server_work=trained.state,
  )._replace(given_labels=given_labels)
