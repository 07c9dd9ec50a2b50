# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD of a network, with soft labels from the method `client_priors`.

Before round 1, `client_priors` fits a linear classifier of pixels or features.
In each round a client computes the class posteriors of its images, given its
own class shares. The client sends the gradient of the network's loss for one
batch, with the posteriors as soft labels.

    prepare:  `client_priors` finds weights W of the classifier, and mean m and
              strength s of the clients' class shares
    client k: log p(x | c) = (W x)_c; in later phases an earlier network gives
              p(x | c) (`network_labels`)
              p(c | x) ~ p(x | c) pi_kc, averaged over the posterior of the
              client's class shares pi_k, whose prior is Dirichlet(s m)
              g_k = gradient of a batch's cross-entropy with labels p(. | x)
    server:   network <- step along the mean of g_k

Clients take no local steps, because a network would forget the classes that a
client lacks. The mean gradient is over images of all clients of the cohort.
"""

import collections
from collections.abc import Callable, Iterator, Mapping, Sequence
import dataclasses
import math
import types
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.algorithms import gradient_steps
from tff_semifl.algorithms import network_labels
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.algorithms.client_priors import choice
from tff_semifl.algorithms.client_priors import client_priors
from tff_semifl.algorithms.client_priors import process as process_lib
from tff_semifl.algorithms.client_priors import server_steps
from tff_semifl.algorithms.client_priors import state as state_lib
from tff_semifl.core import client_work
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.core import hook_arguments
from tff_semifl.core import method
from tff_semifl.core import optimizers
from tff_semifl.core import pseudo_labels
from tff_semifl.core import training_loop
from tff_semifl.data import pipelines
from tff_semifl.models import features
from tff_semifl.models import functional
from tff_semifl.privacy import aggregators
from tff_semifl.privacy import means
from tff_semifl.randomness import random_seeds


@dataclasses.dataclass(frozen=True)
class Labeler(method.Guiding):
  """The message for labeling: a linear layer and an earlier network."""

  shape: tuple[int, ...]  # The shape of the layer's input.
  total_rounds: int

  def init_guidance(
    self, model: functional.ImageClassifier
  ) -> network_labels.Kept:
    size, num_classes = math.prod(self.shape), model.num_classes
    zeros = tf.zeros([size, num_classes]), tf.zeros([num_classes])
    priors = state_lib.start(
      functional.ModelWeights(zeros, ()), size, num_classes
    )
    return network_labels.start(priors, model)

  def tell(
    self, kept: network_labels.Kept, server: hook_arguments.Server
  ) -> network_labels.Message:
    del server
    return network_labels.tell(_unpack(kept))

  def guidance(
    self,
    kept: network_labels.Kept,
    sums: network_labels.Sums,
    server: hook_arguments.Server,
  ) -> network_labels.Kept:
    before, after = (
      network_labels.find_phase(each, self.total_rounds)
      for each in (server.round_num, server.round_num + 1)
    )
    sums, ends = network_labels.Sums(*sums), tf.not_equal(before, after)
    return network_labels.update(_unpack(kept), sums, server, ends)


def _unpack(kept: network_labels.Kept) -> network_labels.Kept:
  """Restores the named tuples of a state that TFF converted to structs."""
  priors, teacher, *others = kept
  return network_labels.Kept(
    state_lib.State(*priors), functional.ModelWeights(*teacher), *others
  )


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
class PhaseSchedule(training_settings.CosineSchedule):
  """In each phase the learning rate falls to 0 on half a cosine."""

  def create_learning_rate_fn(self) -> Callable[[tf.Tensor], tf.Tensor]:
    if self.constant_learning_rate:
      return super().create_learning_rate_fn()
    total = settings.filled('total_rounds', self.total_rounds)

    def find_learning_rate(round_num: tf.Tensor) -> tf.Tensor:
      phase = network_labels.find_phase(tf.maximum(round_num, 1), total)
      first, after = (
        network_labels.first_round(each, total) for each in (phase, phase + 1)
      )
      return training_loop.cosine_decay(
        round_num - first + 1,
        initial_value=self.learning_rate,
        total_rounds=tf.cast(after - first, tf.float32),
      )

    return find_learning_rate


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Averaging(gradient_steps.Aggregation):
  """The aggregation of the sums of client priors, and of gradients."""

  aggregator: means.Aggregator = aggregators.choose_without(
    differential_privacy=gradient_steps.NOT_PRIVATE,
    robust=client_priors.NOT_ROBUST,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientPriorNetwork(gradient_steps.GradientSteps):
  """A network trained by federated SGD on soft labels of `client_priors`."""

  # Batch statistics of a client with few classes differ from global statistics.
  usual = types.MappingProxyType(
    {'normalization': 'group', 'rounds_per_evaluation': 100}
  )
  uses_strong_views = False
  labels_by_features = True
  server_trains_alone = False

  rounds: PhaseSchedule = PhaseSchedule(total_rounds=3000, learning_rate=0.1)
  client: training_settings.ClientBatches = training_settings.ClientBatches(
    client_batch_size=20
  )
  averaging: _Averaging = _Averaging()
  confidence: training_settings.Confidence = training_settings.Confidence(
    confidence_threshold=0.5
  )

  def create_guides(self, ingredients: system.Ingredients) -> method.Guides:
    total = settings.filled('total_rounds', self.rounds.total_rounds)
    return {method.OWN: Labeler(_find_shape(ingredients), total)}

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    if ingredients.classifier.batch_moments is not None:
      raise settings.SettingError(
        'normalization',
        None,
        'the network would label images before the statistics of static batch'
        ' normalization are computed; use group, or a model without them',
      )
    # Clients train on weakly augmented images.
    weak = ingredients.weak_augmentation
    process = super().build(
      dataclasses.replace(ingredients, strong_augmentation=weak)
    )
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
    """The posteriors of a batch, given the class shares of the client."""
    del weights  # The layer or an earlier network labels.
    layer, teacher, *others = node.context.guidance[method.OWN]
    message = network_labels.Message(
      state_lib.Labeler(*layer), functional.ModelWeights(*teacher), *others
    )
    posteriors, sums = network_labels.label(
      message,
      ingredients.classifier,
      data,
      batch,
      node.seed(random_seeds.Purpose.PSEUDO_LABEL_VIEW),
    )
    labels = pseudo_labels.complete(
      posteriors, ingredients.classifier.num_classes
    )
    exchanged = message.classes - tf.range(tf.size(message.classes))

    def of_one(value: tf.Tensor) -> client_work.Ratio:
      return client_work.Ratio(tf.cast(value, tf.float32), tf.ones([]))

    measurements = collections.OrderedDict(
      strength=of_one(tf.reduce_sum(message.layer.alpha)),
      labels_by_network=of_one(message.is_network),
      classes_exchanged=of_one(tf.math.count_nonzero(exchanged)),
    )
    return labels, {'measurements': measurements, 'report': {method.OWN: sums}}

  def targets(self, labels: pseudo_labels.PseudoLabels) -> tf.Tensor:
    return labels.probabilities

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
    """A step along the clients' mean gradient; labels are only for metrics."""
    state, trainable = optimizer.next(
      optimizers.with_rate(optimizer, state, context.learning_rate),
      weights.trainable,
      clients_gradient,
    )
    weights = weights._replace(trainable=tuple(trainable))
    labeled = pipelines.concatenate_chunks(dataset)
    images = tf.cast(labeled['image'], tf.float32)
    output = training_loop.cross_entropy(
      ingredients.classifier.logits(weights, images), labeled['label']
    )
    number = tf.cast(tf.size(labeled['label']), tf.float32)
    metrics = collections.OrderedDict(
      loss=output.loss, accuracy=output.num_correct / number
    )
    return state, weights, metrics

  def describe_result(self, trained: system.Trained) -> Iterator[str]:
    """Yields lines on how clients differ, and on the size of messages."""
    strength = trained.metrics['client/own/strength']
    if math.isnan(strength):
      yield 'no client took part in the last round'
      return
    if strength >= 0.99 * choice.WITHOUT_OWN_SHARES:
      yield (
        "clients are alike, or a class's images differ between them: all have"
        ' the same class shares, and the layer labeled until the end; try'
        ' semifl or client_prior_semifl'
      )
    else:
      yield (
        "clients' images are labeled with class shares of each client (strength"
        f' {strength:.3g})'
      )
      by_network = trained.metrics['client/own/labels_by_network'] > 0
      yield (
        'in the last rounds, the network itself labeled'
        if by_network
        else 'the layer labeled until the end: it predicts more held-out labels'
        f' than the network, or fewer than {choice.LEAST_LABELS} were held out'
      )
    size = 4e-6 * sum(each.size for each in trained.weights.trainable)
    yield (
      f'a client of a round sends one gradient ({size:.2g} MB), and receives'
      f' two networks ({2 * size:.2g} MB) and the layer; all clients sent sums'
      f' {1 + server_steps.PASSES} times before round 1'
    )


def _build_preparations(
  process: federated_process.FederatedProcess,
  layer: functional.ImageClassifier,
  aggregator: tff.aggregators.AggregationFactory,
) -> list[tff.Computation]:
  """Builds the passes over all clients that train the layer before round 1."""
  priors = process_lib.build(layer, aggregator)
  state_type = process.initialize.type_signature.result
  server_type, client_type = priors.next.type_signature.parameter[1:]

  def lift(step):
    """Applies a step of `client_priors` within the state of this system."""

    @tff.federated_computation(state_type, server_type, client_type)
    def prepare(state, server_data, client_data):
      kept = getattr(state.guidance, method.OWN)
      # The aggregator's state is new in each pass.
      aggregator = priors.initialize().aggregator
      found = step(
        composition.replace(
          kept.priors, state_lib.State, aggregator=aggregator
        ),
        server_data,
        client_data,
      )
      nothing = tff.federated_value((), tff.SERVER)
      found = composition.replace(found, state_lib.State, aggregator=nothing)
      kept = composition.replace(kept, network_labels.Kept, priors=found)
      guidance = tff.federated_zip(collections.OrderedDict({method.OWN: kept}))
      return composition.replace(
        state, composition.RoundState, guidance=guidance
      )

    return prepare

  def run_pass(*arguments):
    return priors.next(*arguments).state

  (find_components,) = priors.preparations
  return [lift(find_components)] + [lift(run_pass)] * server_steps.PASSES
