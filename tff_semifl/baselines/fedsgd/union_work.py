# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Steps on batches of several clients' images, as in SemiFL's Figure 2.

    each round is an epoch of the clients' images:
      until each image was in a step:
        S, U = a batch of the server, a batch of each client of a cohort
        loss = CE(S) + (CE(strong(U), labels) if any label is confident)

Normalization is over all images of U. Either all images of U or none are
trained on.
"""

import collections
from collections.abc import Mapping
import dataclasses
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.algorithms import system
from tff_semifl.baselines.fedsgd import union_images
from tff_semifl.core import client_work
from tff_semifl.core import federated_process
from tff_semifl.core import optimizers
from tff_semifl.core import pseudo_labels
from tff_semifl.core import training_loop
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds

_Purpose = random_seeds.Purpose


class _Sums(NamedTuple):
  """Sums of an epoch over the clients' and the server's images.

  `num_confident` counts confident pseudo-labels. `given` has all pseudo-labels,
  with indices into the images of all clients.
  """

  client: training_loop.TrainingSums
  server: training_loop.TrainingSums
  num_confident: tf.Tensor
  given: pseudo_labels.GivenLabels


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class UnionWork:
  """The `ServerWork` of a server to which clients hand over their images.

  The last argument of `train` is the `ClientImages`. Measurements are `client`,
  `server` and `given_labels`, the pseudo-labels of all images. Weight diversity
  is not measured, because clients have no updates.
  """

  ingredients: system.Ingredients
  optimizer: tff.learning.optimizers.Optimizer
  clients_per_step: int
  client_batch_size: int
  server_batch_size: int
  confidence_threshold: float

  def initialize(self) -> Any:
    """The initial state of the optimizer."""
    return training_loop.initial_optimizer_state(
      self.optimizer, self.ingredients.classifier.initial_weights.trainable
    )

  def train(
    self,
    state: Any,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    server_data: tf.data.Dataset,
    gathered: union_images.ClientImages,
  ) -> tuple[Any, functional.ModelWeights, Mapping[str, Any]]:
    """Takes steps until each image of each client was in a step.

    The server's images are weakly augmented, the clients' images strongly;
    pseudo-labels are predictions for weak augmentation. The three passes are
    normalized separately. The server's batches are all full, from a stream of
    shuffled epochs; a client's batches are consecutive images.
    """
    labeled = pipelines.concatenate_chunks(server_data)
    node = federated_process.Node(context)
    batch_size = self.client_batch_size
    cohorts = union_images.draw_cohorts(
      -(-gathered.num_images // batch_size),
      self.clients_per_step,
      node.seed(_Purpose.COHORT),
    )
    state = self.optimizer.set_hparams(
      state, {optimizers.LEARNING_RATE_KEY: context.learning_rate}
    )

    def take_step(step, state, trainable, sums):
      model = weights._replace(trainable=trainable)
      server_gradient, server_sums = self._train_on_server(
        model, labeled, node, step
      )
      indices = union_images.find_images(
        cohorts, step, gathered.num_images, batch_size
      )
      images = tf.gather(gathered.image, indices)
      client_gradient, client_sums, labels, is_confident = (
        self._train_on_clients(model, images, node, step)
      )
      state, trainable = self.optimizer.next(
        state, trainable, tuple(map(tf.add, server_gradient, client_gradient))
      )
      confident = tf.reduce_sum(tf.cast(is_confident, tf.float32))
      return (
        step + 1,
        state,
        tuple(trainable),
        _Sums(
          tf.nest.map_structure(tf.add, sums.client, client_sums),
          tf.nest.map_structure(tf.add, sums.server, server_sums),
          sums.num_confident + confident,
          sums.given.extend(
            pseudo_labels.give_at_once(indices, labels, is_confident)
          ),
        ),
      )

    _, state, trainable, sums = tf.while_loop(
      lambda step, *_: step < tf.shape(cohorts.clients)[0],
      take_step,
      (
        0,
        state,
        tuple(weights.trainable),
        _Sums(
          _no_sums(),
          _no_sums(),
          tf.constant(0.0),
          pseudo_labels.no_given_labels(),
        ),
      ),
    )
    metrics = collections.OrderedDict(
      client=_summarize_clients(sums, gathered.num_images),
      server=collections.OrderedDict(
        loss=sums.server.loss / sums.server.num_examples,
        accuracy=sums.server.num_correct / sums.server.num_examples,
      ),
      given_labels=sums.given,
    )
    return state, weights._replace(trainable=trainable), metrics

  def _train_on_server(
    self,
    model: functional.ModelWeights,
    labeled: Mapping[str, tf.Tensor],
    node: federated_process.Node,
    step: tf.Tensor,
  ) -> tuple[tuple[tf.Tensor, ...], training_loop.TrainingSums]:
    """The gradient of a batch of weakly augmented labeled images."""
    indices = random_draws.select_from_stream(
      tf.shape(labeled['label'])[0],
      self.server_batch_size,
      step,
      node.seed(_Purpose.SERVER_ORDER),
    )
    return self._find_gradient(
      model,
      self.ingredients.weak_augmentation(
        tf.gather(labeled['image'], indices),
        node.seed(_Purpose.SERVER_AUGMENTATION, step),
      ),
      tf.gather(labeled['label'], indices),
      node.seed(_Purpose.DROPOUT_MASK, step, 0),
    )

  def _train_on_clients(
    self,
    model: functional.ModelWeights,
    images: tf.Tensor,
    node: federated_process.Node,
    step: tf.Tensor,
  ) -> tuple[
    tuple[tf.Tensor, ...], training_loop.TrainingSums, tf.Tensor, tf.Tensor
  ]:
    """Gradient, sums, labels, and whether labels are confident, for a cohort.

    The gradient is 0 if no label is confident.
    """
    classifier = self.ingredients.classifier
    weak = self.ingredients.weak_augmentation(
      images, node.seed(_Purpose.WEAK_VIEW, step)
    )
    labels = pseudo_labels.from_logits(
      classifier.batch_logits(model, tf.cast(weak, tf.float32))
    )
    is_confident = pseudo_labels.is_confident(labels, self.confidence_threshold)

    def train_on_all():
      return self._find_gradient(
        model,
        self.ingredients.strong_augmentation(
          images, node.seed(_Purpose.STRONG_VIEW, step)
        ),
        labels.labels,
        node.seed(_Purpose.DROPOUT_MASK, step, 1),
      )

    gradient, sums = tf.cond(
      tf.reduce_any(is_confident),
      train_on_all,
      lambda: (tuple(map(tf.zeros_like, model.trainable)), _no_sums()),
    )
    sums = sums._replace(num_visited=tf.cast(tf.shape(images)[0], tf.float32))
    return gradient, sums, labels.labels, is_confident

  def _find_gradient(
    self,
    model: functional.ModelWeights,
    images: tf.Tensor,
    labels: tf.Tensor,
    seed: tf.Tensor,
  ) -> tuple[tuple[tf.Tensor, ...], training_loop.TrainingSums]:
    gradient, output = training_loop.cross_entropy_gradient(
      self.ingredients.classifier, model, images, labels, seed
    )
    number = tf.cast(tf.shape(labels)[0], tf.float32)
    return gradient, training_loop.TrainingSums(
      number * output.loss, output.num_correct, number, number
    )


def _summarize_clients(
  sums: _Sums, num_images: tf.Tensor
) -> collections.OrderedDict[str, tf.Tensor]:
  """The clients' metrics; `num_images` are the images of each client."""
  client, ratio = sums.client, client_work.Ratio
  return client_work.summarize(
    client_work.ClientSums(
      collections.OrderedDict(
        loss=ratio(client.loss, client.num_examples),
        accuracy=ratio(client.num_correct, client.num_examples),
        label_ratio=ratio(sums.num_confident, client.num_visited),
        num_participating=tf.math.count_nonzero(num_images, dtype=tf.float32),
        num_rejected=tf.constant(0.0),
      ),
    )
  )


def _no_sums() -> training_loop.TrainingSums:
  return training_loop.TrainingSums(*[tf.constant(0.0)] * 4)
