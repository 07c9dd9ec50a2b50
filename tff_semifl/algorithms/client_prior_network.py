# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""From client priors to a network: client priors label, a network learns.

Before round 1, client priors train a linear classifier of pixels (see
`client_priors`), and one more pass estimates how class shares differ between
clients (see `share_prior`). In each round a client finds the posteriors of its
images, given its class shares, and sends the network's gradient for a batch of
these soft labels. Posteriors stay at the client.

    prepare:  W, s, T = client priors, from sums over all clients
    client k: p, pi_k = posteriors and class shares of all images of k,
                        p(c | x) ~ softmax(W x)_c^(1/T) pi_kc / m_c
              g_k = gradient of the cross-entropy of the network and p, a batch
    server:   network <- step along label_weight * (gradient of labels) + mean g

A step that averages gradients is a step on the images of all clients, however
their classes differ. With several local steps the network forgets the classes
that a client lacks.
"""

import collections
from collections.abc import Iterator, Mapping, Sequence
import dataclasses
import math
import types
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.algorithms import client_prior
from tff_semifl.algorithms import gradient_steps
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.algorithms.client_priors import choice
from tff_semifl.algorithms.client_priors import client_sums
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

# Standard errors by which the network may be behind the layer when it labels.
_ERRORS_BEHIND = 2.0
# Of the average of `Sums.lead` over rounds.
_DECAY = 0.9
# Held-out labels right where no label can be held out: more than there are.
_UNKNOWN = 1e9


class Kept(NamedTuple):
  """The two models that label, at the server."""

  layer: state_lib.State  # The state of client priors.
  layer_right: tf.Tensor  # float32, held-out labels that the layer has right.
  lead: tf.Tensor  # float32, a moving average of `Sums.lead` of an image.


class Sums(NamedTuple):
  """The sums over a batch that a client reports, float32."""

  lead: tf.Tensor  # Log-likelihood by the network, minus that by the layer.
  num_images: tf.Tensor


class Message(NamedTuple):
  """What a client labels with, float32."""

  layer: functional.ModelWeights
  alpha: tf.Tensor  # [classes], the prior of clients' class shares.
  lead: tf.Tensor  # See `Kept`.

  network_labels: tf.Tensor  # bool, whether the network labels.


@dataclasses.dataclass(frozen=True)
class Labeler(method.Guiding):
  """A linear classifier by client priors, and then the network, label images.

  The network takes over if it tells clients apart at least as well: the
  likelihood of an image x at a client with class shares pi, relative to class
  shares m, is sum_c p(c | x) pi_c / m_c. It must also have as many of the
  server's labels right, on which it is not trained, as the layer has of
  held-out ones, less two standard errors.
  """

  shape: tuple[int, ...]  # The shape of what the layer takes.

  def init_guidance(self, model: functional.ImageClassifier) -> Kept:
    size, num_classes = math.prod(self.shape), model.num_classes
    zeros = tf.zeros([size, num_classes]), tf.zeros([num_classes])
    return Kept(
      state_lib.start(functional.ModelWeights(zeros, ()), size, num_classes),
      tf.constant(_UNKNOWN),
      # Behind, before anything is known.
      tf.constant(-1.0),
    )

  def tell(self, kept: Kept, server: hook_arguments.Server) -> Message:
    kept = Kept(*kept)
    estimate = state_lib.Estimate(*state_lib.State(*kept.layer).estimate)
    averages = client_sums.Means(*estimate.averages)
    differ = averages.evidence[0] >= class_shares.LEAST_EVIDENCE
    strength = tf.where(
      differ, estimate.strength[0], class_shares.GREATEST_STRENGTH
    )
    labeled = pipelines.concatenate_chunks(server.data)
    right = _evaluate(server.model, server.weights, labeled).num_correct
    number = tf.cast(tf.size(labeled['label']), tf.float32)
    error = tf.sqrt(right * (1 - right / number))
    shares = client_prior.from_counts(client_prior.count_labels(server))
    return Message(
      state_lib.State(*kept.layer).global_model_weights,
      tf.cast(strength, tf.float32) * shares,
      kept.lead,
      differ
      & (kept.lead >= 0)
      & (right + _ERRORS_BEHIND * error >= kept.layer_right),
    )

  def guidance(
    self, kept: Kept, sums: Sums, server: hook_arguments.Server
  ) -> Kept:
    del server
    kept, sums = Kept(*kept), Sums(*sums)
    lead = _DECAY * kept.lead + (1 - _DECAY) * sums.lead / sums.num_images
    return kept._replace(lead=tf.where(sums.num_images > 0, lead, kept.lead))


def _evaluate(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  labeled: Mapping[str, tf.Tensor],
) -> training_loop.BatchOutput:
  """The network's loss on the server's labels, and the number right."""
  logits = classifier.logits(weights, tf.cast(labeled['image'], tf.float32))
  return training_loop.cross_entropy(logits, labeled['label'])


def _find_shape(ingredients: system.Ingredients) -> tuple[int, ...]:
  """The shape of what the layer takes: features, or images."""
  if ingredients.num_features is not None:
    return (ingredients.num_features,)
  return ingredients.classifier.image_shape


def create_layer(
  shape: Sequence[int], num_classes: int
) -> functional.ImageClassifier:
  """A linear classifier of raw pixels or features."""
  size = shape[-1]
  return functional.from_keras(
    features.create_linear(
      shape, num_classes, mean=[0.0] * size, standard_deviation=[1.0] * size
    )
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientPriorNetwork(gradient_steps.GradientSteps):
  """A network that learns the labels of client priors, by federated SGD."""

  # Batch statistics of two classes differ from statistics of all classes.
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
    """The posteriors of a batch, given the class shares of all images."""
    message = Message(*node.context.guidance[method.OWN])
    layer = functional.ModelWeights(*message.layer)
    kernel, bias = layer.trainable
    x = tf.cast(data.get('features', data['image']), tf.float32)
    strength = tf.reduce_sum(message.alpha)
    logits = tf.reshape(x, [-1, kernel.shape[0]]) @ kernel + bias
    shares = class_shares.find(
      class_shares.read(logits - tf.math.log(message.alpha / strength)),
      message.alpha,
    )
    own = shares.parameters / tf.reduce_sum(shares.parameters)
    shift = tf.math.log(own * strength / message.alpha)
    logits = tf.gather(logits, batch)
    images = tf.cast(tf.gather(data['image'], batch), tf.float32)
    of_network = ingredients.classifier.logits(weights, images)
    posteriors = tf.cond(
      message.network_labels,
      lambda: tf.nn.softmax(of_network + shift),
      lambda: tf.gather(shares.posteriors, batch),
    )

    def find_likelihoods(logits: tf.Tensor) -> tf.Tensor:
      return tf.reduce_logsumexp(tf.nn.log_softmax(logits) + shift, axis=1)

    sums = Sums(
      tf.reduce_sum(find_likelihoods(of_network) - find_likelihoods(logits)),
      tf.cast(tf.size(batch), tf.float32),
    )
    measurements = collections.OrderedDict(
      (name, client_work.Ratio(tf.cast(value, tf.float32), tf.ones([])))
      for name, value in (
        ('strength', strength),
        ('lead', message.lead),
        ('network_labels', message.network_labels),
      )
    )
    return pseudo_labels.complete(
      posteriors, ingredients.classifier.num_classes
    ), {'measurements': measurements, 'report': {method.OWN: sums}}

  def targets(self, labels: pseudo_labels.PseudoLabels) -> tf.Tensor:
    return labels.probabilities

  def augment_at_client(
    self, ingredients: system.Ingredients
  ) -> augmentation.Augmentation:
    return ingredients.weak_augmentation

  def build_server_work(
    self, ingredients: system.Ingredients
  ) -> server_work.ServerWork:
    """The step along the clients' gradient; the labels are held out."""
    classifier, optimizer = ingredients.classifier, self.optimizer.build()

    def train(state, weights, context, dataset, gradient):
      state = optimizer.set_hparams(
        state, {optimizers.LEARNING_RATE_KEY: context.learning_rate}
      )
      state, trainable = optimizer.next(state, weights.trainable, gradient)
      weights = weights._replace(trainable=tuple(trainable))
      labeled = pipelines.concatenate_chunks(dataset)
      output = _evaluate(classifier, weights, labeled)
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
    """Yields lines on which model labeled, and on what clients exchanged."""
    strength, lead, network_labels = (
      trained.metrics[f'client/own/{name}']
      for name in ('strength', 'lead', 'network_labels')
    )
    if math.isnan(strength):
      yield 'no client took part in the last round'
      return
    if strength >= class_shares.GREATEST_STRENGTH:
      yield (
        'clients are alike: the layer labels their images, and the network'
        ' learns what the layer knows; try semifl or client_prior_semifl'
      )
    else:
      yield (
        f'{"the network" if network_labels else "the layer"} labels clients\''
        f' images in the end, with class shares of each client (strength'
        f' {strength:.3g}); an image is {math.exp(lead):.2f} times as likely at'
        ' its client by the network as by the layer'
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
  """The passes over all clients that find the layer and clients' shares."""
  priors = process_lib.build(layer, aggregator)
  state_type = process.initialize.type_signature.result
  server_type, client_type = priors.next.type_signature.parameter[1:]

  def lift(step):
    """A computation on the whole state, of a step on the labeling models."""

    @tff.federated_computation(state_type, server_type, client_type)
    def prepare(state, server_data, client_data):
      kept = getattr(state.guidance, method.OWN)
      kept = _replace(kept, Kept, **step(kept, server_data, client_data))
      guidance = tff.federated_zip(collections.OrderedDict({method.OWN: kept}))
      return _replace(state, composition.RoundState, guidance=guidance)

    return prepare

  def begin(kept):
    # The aggregator begins anew in each pass.
    aggregator = priors.initialize().aggregator
    return _replace(kept.layer, state_lib.State, aggregator=aggregator)

  def end(state):
    nothing = tff.federated_value((), tff.SERVER)
    return _replace(state, state_lib.State, aggregator=nothing)

  def find_components(kept, server_data, client_data):
    (prepare,) = priors.preparations
    return {'layer': end(prepare(begin(kept), server_data, client_data))}

  def run_pass(kept, server_data, client_data):
    output = priors.next(begin(kept), server_data, client_data)
    right = composition.run(_count_right, output.metrics.client)
    return {'layer': end(output.state), 'layer_right': right}

  return [lift(find_components)] + [lift(run_pass)] * server_steps.PASSES


def _count_right(metrics: Mapping[str, tf.Tensor]) -> tf.Tensor:
  """Held-out labels that the chosen layer has right; or `_UNKNOWN`."""
  right = tf.stack([metrics[f'right_{each}'] for each in choice.CANDIDATES])
  return tf.where(
    metrics['held_out'] > 0,
    tf.gather(right, tf.cast(metrics['kept'], tf.int32)),
    _UNKNOWN,
  )


def _replace(value: tff.Value, kind: type, **changes: tff.Value) -> tff.Value:
  """A named tuple at the server with some of its fields changed."""
  return tff.federated_zip(
    kind(*(changes.get(name, getattr(value, name)) for name in kind._fields))
  )
