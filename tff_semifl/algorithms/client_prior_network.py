# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD of a network, with soft labels from the method `client_priors`.

Before round 1, `client_priors` fits a linear classifier of pixels or features.
In each round a client computes the class posteriors of its images, given its
own class shares. It sends the gradient of the network's loss for one batch,
with these posteriors as soft labels. Posteriors stay at the client.

    prepare:  W, m, s = `client_priors`, from sums over all clients
    client k: p(c | x) ~ exp(W x)_c pi_kc, averaged over the posterior of the
              client's class shares pi_k, whose prior is Dirichlet(s m)
              g_k = gradient of the network's cross-entropy with p, a batch
    server:   network <- step along the mean of g_k

One step along the mean gradient uses images of all clients, however their
classes differ. In many local steps a network would forget the classes that the
client lacks.
"""

import collections
from collections.abc import Iterator, Mapping, Sequence
import dataclasses
import math
import types
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.algorithms import gradient_steps
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.algorithms.client_priors import choice
from tff_semifl.algorithms.client_priors import linear_classifiers
from tff_semifl.algorithms.client_priors import process as process_lib
from tff_semifl.algorithms.client_priors import server_steps
from tff_semifl.algorithms.client_priors import state as state_lib
from tff_semifl.augment import augmentation
from tff_semifl.core import client_work
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.core import hook_arguments
from tff_semifl.core import method
from tff_semifl.core import optimizers
from tff_semifl.core import pseudo_labels
from tff_semifl.core import server_work
from tff_semifl.core import training_loop
from tff_semifl.data import pipelines
from tff_semifl.label_shift import class_shares
from tff_semifl.models import features
from tff_semifl.models import functional


@dataclasses.dataclass(frozen=True)
class Labeler(method.Guiding):
  """Labels clients' images by the linear classifier of `client_priors`.

  The server keeps the state of `client_priors`.
  """

  shape: tuple[int, ...]  # The shape of the classifier's input.

  def init_guidance(self, model: functional.ImageClassifier) -> state_lib.State:
    size, num_classes = math.prod(self.shape), model.num_classes
    zeros = tf.zeros([size, num_classes]), tf.zeros([num_classes])
    return state_lib.start(
      functional.ModelWeights(zeros, ()), size, num_classes
    )

  def tell(
    self, kept: state_lib.State, server: hook_arguments.Server
  ) -> state_lib.Labeler:
    """The classifier that clients receive, float32."""
    del server
    labeler = state_lib.State(*kept).labeler
    return state_lib.Labeler(*(tf.cast(each, tf.float32) for each in labeler))


def _find_shape(ingredients: system.Ingredients) -> tuple[int, ...]:
  if ingredients.num_features is not None:
    return (ingredients.num_features,)
  return ingredients.classifier.image_shape


def create_layer(
  shape: Sequence[int], num_classes: int
) -> functional.ImageClassifier:
  """Creates a linear classifier of raw pixels or features."""
  size = shape[-1]
  return functional.from_keras(
    features.create_linear(
      shape, num_classes, mean=[0.0] * size, standard_deviation=[1.0] * size
    )
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientPriorNetwork(gradient_steps.GradientSteps):
  """A network trained by federated SGD on soft labels of `client_priors`."""

  # Batch statistics of a client with few classes differ from global statistics.
  usual = types.MappingProxyType(
    {'normalization': 'group', 'rounds_per_evaluation': 50}
  )
  uses_strong_views = False
  labels_by_features = True

  rounds: training_settings.CosineSchedule = training_settings.CosineSchedule(
    total_rounds=1000, learning_rate=0.1
  )
  client: training_settings.ClientBatches = training_settings.ClientBatches(
    client_batch_size=20
  )
  confidence: training_settings.Confidence = training_settings.Confidence(
    confidence_threshold=0.5
  )

  def create_guides(self, ingredients: system.Ingredients) -> method.Guides:
    return {method.OWN: Labeler(_find_shape(ingredients))}

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    process = super().build(ingredients)
    return federated_process.FederatedProcess(
      process.initialize,
      process.next,
      preparations=_build_preparations(
        process,
        create_layer(
          _find_shape(ingredients), ingredients.classifier.num_classes
        ),
        self.averaging.aggregator.build(),
      ),
    )

  def label(
    self,
    ingredients: system.Ingredients,
    weights: functional.ModelWeights,
    node: federated_process.Node,
    data: Mapping[str, tf.Tensor],
    batch: tf.Tensor,
  ) -> tuple[pseudo_labels.PseudoLabels, Mapping[str, Any]]:
    """The class posteriors of a batch, given the client's class shares."""
    del weights  # The linear classifier labels, not the network.
    labeler = state_lib.Labeler(*node.context.guidance[method.OWN])
    x = tf.cast(data.get('features', data['image']), tf.float32)
    size = labeler.weights.shape[0] - 1
    logits = (
      linear_classifiers.with_ones(tf.reshape(x, [-1, size])) @ labeler.weights
    )
    shares = class_shares.find(class_shares.read(logits), labeler.alpha)
    labels = pseudo_labels.complete(
      tf.gather(shares.posteriors, batch), ingredients.classifier.num_classes
    )
    measurements = collections.OrderedDict(
      strength=client_work.Ratio(tf.reduce_sum(labeler.alpha), tf.ones([]))
    )
    return labels, {'measurements': measurements}

  def targets(self, labels: pseudo_labels.PseudoLabels) -> tf.Tensor:
    return labels.probabilities

  def augment_at_client(
    self, ingredients: system.Ingredients
  ) -> augmentation.Augmentation:
    return ingredients.weak_augmentation

  def build_server_work(
    self, ingredients: system.Ingredients
  ) -> server_work.ServerWork:
    """Builds the server's optimizer step along the clients' mean gradient.

    The server's labels are only for metrics.
    """
    classifier, optimizer = ingredients.classifier, self.optimizer.build()

    def train(state, weights, context, dataset, gradient):
      state = optimizer.set_hparams(
        state, {optimizers.LEARNING_RATE_KEY: context.learning_rate}
      )
      state, trainable = optimizer.next(state, weights.trainable, gradient)
      weights = weights._replace(trainable=tuple(trainable))
      labeled = pipelines.concatenate_chunks(dataset)
      images = tf.cast(labeled['image'], tf.float32)
      output = training_loop.cross_entropy(
        classifier.logits(weights, images), labeled['label']
      )
      number = tf.cast(tf.size(labeled['label']), tf.float32)
      metrics = collections.OrderedDict(
        loss=output.loss, accuracy=output.num_correct / number
      )
      return state, weights, metrics

    return server_work.ServerWork(
      initialize=lambda: training_loop.initial_optimizer_state(
        optimizer, classifier.initial_weights.trainable
      ),
      train=train,
    )

  def describe_result(self, trained: system.Trained) -> Iterator[str]:
    """Yields lines on how clients differ, and on the size of messages."""
    strength = trained.metrics['client/own/strength']
    if math.isnan(strength):
      yield 'no client took part in the last round'
      return
    if strength >= 0.99 * choice.WITHOUT_OWN_SHARES:
      yield (
        "clients are alike, or a class's images differ between them: all have"
        ' the same class shares, and the network learns only what the labeling'
        ' layer knows; try semifl or client_prior_semifl'
      )
    else:
      yield (
        "clients' images are labeled with class shares of each client (strength"
        f' {strength:.3g})'
      )
    num_weights = sum(each.size for each in trained.weights.trainable)
    yield (
      'a client of a round sends one gradient, and receives the network and the'
      f' layer: {4e-6 * num_weights:.2g} MB each way, and before round 1 sums'
      f' {1 + server_steps.PASSES} times'
    )


def _build_preparations(
  process: federated_process.FederatedProcess,
  layer: functional.ImageClassifier,
  aggregator: tff.aggregators.AggregationFactory,
) -> list[tff.Computation]:
  """Builds the passes over all clients that fit classifier and class shares."""
  priors = process_lib.build(layer, aggregator)
  state_type = process.initialize.type_signature.result
  server_type, client_type = priors.next.type_signature.parameter[1:]

  def lift(step):
    """Extends a step on the state of `client_priors` to the system's state."""

    @tff.federated_computation(state_type, server_type, client_type)
    def prepare(state, server_data, client_data):
      kept = getattr(state.guidance, method.OWN)
      # The aggregator's state is new in each pass.
      aggregator = priors.initialize().aggregator
      kept = step(
        composition.replace(kept, state_lib.State, aggregator=aggregator),
        server_data,
        client_data,
      )
      nothing = tff.federated_value((), tff.SERVER)
      kept = composition.replace(kept, state_lib.State, aggregator=nothing)
      guidance = tff.federated_zip(collections.OrderedDict({method.OWN: kept}))
      return composition.replace(
        state, composition.RoundState, guidance=guidance
      )

    return prepare

  def run_pass(*arguments):
    return priors.next(*arguments).state

  (find_components,) = priors.preparations
  return [lift(find_components)] + [lift(run_pass)] * server_steps.PASSES
