# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Class priors of clients, estimated without labels, and SemiFL with them.

A prior is the shares of the classes among some images: float32 [classes], each
above 0, with sum 1. The model learned from images with the server's prior. A
client labels with its prior, and adds the prior to the logits in its losses, so
that it does not unlearn classes that it lacks. The received and the returned
model are both for the server's prior.

References:
  Saerens, Latinne, Decaestecker. Adjusting the outputs of a classifier to new a
  priori probabilities: a simple procedure. Neural Computation, 2002.
  Menon, Jayasumana, Rawat, Jain, Veit, Kumar. Long-tail learning via logit
  adjustment. ICLR 2021.
"""

import abc
from collections.abc import Mapping
import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import flfl
from tff_semifl.algorithms import system
from tff_semifl.core import hook_arguments
from tff_semifl.core import method
from tff_semifl.core import pseudo_labels
from tff_semifl.data import pipelines

# The usual arguments of hooks.
Client = hook_arguments.ClientContext
Labels = pseudo_labels.PseudoLabels

# Count of a class without labels.
_ABSENT = 0.5
# Least share of a class in the losses.
_LEAST_SHARE = 1e-3
# Labels per class at which the client's own prior has a weight of 1/2.
_LABELS_FOR_HALF_WEIGHT = 2.0


def count_labels(server: hook_arguments.Server) -> tf.Tensor:
  """The number of the server's labels of each class, float32 [classes]."""
  num_classes = server.model.num_classes

  def add_counts(counts: tf.Tensor, chunk: Mapping[str, tf.Tensor]):
    labels = tf.one_hot(chunk['label'], num_classes)
    return counts + tf.reduce_sum(labels, axis=0)

  return pipelines.fold(server.data, tf.zeros([num_classes]), add_counts)


def from_counts(counts: tf.Tensor) -> tf.Tensor:
  """The prior of labels, float32 [classes], in which 0 counts as 1/2."""
  counts = tf.maximum(counts, _ABSENT)
  return counts / tf.reduce_sum(counts)


def label_weight(counts: tf.Tensor) -> tf.Tensor:
  """The default weight of a client's prior when it labels, in [0, 1].

  With an error of the estimate proportional to 1 / n, for n labels of C
  classes, the weight of the least squared error is n^2 / (n^2 + (2 C)^2). The 2
  was found by experiments. `counts` are the labels of each class, float32
  [classes].
  """
  num_classes = tf.cast(tf.size(counts), tf.float32)
  labels = tf.square(tf.reduce_sum(counts))
  return labels / (labels + tf.square(_LABELS_FOR_HALF_WEIGHT * num_classes))


def from_probabilities(
  probabilities: tf.Tensor, server_prior: tf.Tensor, pseudo_count: float
) -> tf.Tensor:
  """The maximum a posteriori prior of images, given class probabilities.

  It is as if there were `pseudo_count` more images with the server's prior.
  `probabilities` are float32 [images, classes]; there may be no image.
  """
  count = tf.cast(tf.shape(probabilities)[0], tf.float32)
  return (
    tf.reduce_sum(probabilities, axis=0) + pseudo_count * server_prior
  ) / (count + pseudo_count)


def estimate(
  logits: tf.Tensor,
  server_prior: tf.Tensor,
  *,
  pseudo_count: float,
  iterations: int,
) -> tf.Tensor:
  """Estimates the prior of unlabeled images by expectation maximization.

  `logits` are float32 [images, classes], of a model that learned from images of
  `server_prior`; there may be no image.
  """

  def iterate(prior: tf.Tensor) -> tuple[tf.Tensor]:
    adapted = adapt(logits, prior, server_prior)
    return (
      from_probabilities(tf.nn.softmax(adapted), server_prior, pseudo_count),
    )

  (prior,) = tf.while_loop(
    lambda _: True, iterate, (server_prior,), maximum_iterations=iterations
  )
  return prior


def adapt(
  logits: tf.Tensor, prior: tf.Tensor, server_prior: tf.Tensor
) -> tf.Tensor:
  """Adapts logits from `server_prior` to images with another prior."""
  return logits + (tf.math.log(prior) - tf.math.log(server_prior))


def logit_offset(prior: tf.Tensor, server_prior: tf.Tensor) -> tf.Tensor:
  """The offset of logits in losses; shares below 0.001 count as 0.001."""
  prior = tf.maximum(prior, _LEAST_SHARE)
  prior /= tf.reduce_sum(prior)
  return tf.math.log(prior) - tf.math.log(server_prior)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PriorFixMix(flfl.ComposedFixMix):
  """Base of SemiFL's clients that use their prior, in labels and in losses.

  The server sends `{'server_prior': ..., 'label_prior_weight': ...}`.
  """

  prior_pseudo_count: float = settings.setting(
    10.0,
    "Images with the server's shares of classes that are added to a client's"
    ' own to get its shares; with ever more of them SemiFL is left.',
    settings.ABOVE_0,
  )
  label_prior_weight: float | None = settings.setting(
    None,
    "Weight of a client's own shares of classes in those with which it labels"
    " (E-step), beside the server's; with 0 it labels as SemiFL's clients do,"
    ' and with 1 it can go wrong where labels are few. By default'
    ' n^2 / (n^2 + 4 C^2) for n labels of C classes at the server: 1/2 with two'
    ' of each class, nearly 1 with many.',
    settings.FRACTION,
  )
  train_with_prior: bool = settings.setting(
    True,
    'Whether the shares of classes of a client are an offset of the logits in'
    ' its losses (M-step).',
  )

  @abc.abstractmethod
  def find_prior(self, client: Client, logits: tf.Tensor) -> tf.Tensor:
    """The client's prior, float32 [classes], from the sent model's logits."""

  def tell(self, kept: Any, server: hook_arguments.Server) -> dict[str, Any]:
    del kept  # The server keeps no state.
    counts = count_labels(server)
    return {
      'server_prior': from_counts(counts),
      'label_prior_weight': label_weight(counts)
      if self.label_prior_weight is None
      else tf.constant(self.label_prior_weight),
    }

  def pseudo_label(self, client: Client, logits: tf.Tensor) -> Labels:
    """The labels of all images of a client, given its prior."""
    prior = self.find_prior(client, logits)
    server_prior = client.guidance['server_prior']
    weight = client.guidance['label_prior_weight']
    label_prior = weight * prior + (1 - weight) * server_prior
    logits = adapt(logits, label_prior, server_prior)
    return super().pseudo_label(client, logits)._replace(prior=prior)

  def logit_offset(self, client: Client, labels: Labels) -> tf.Tensor | None:
    if not self.train_with_prior:
      return super().logit_offset(client, labels)
    return logit_offset(labels.prior, client.guidance['server_prior'])


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientPriorFixMix(PriorFixMix):
  """SemiFL's client with its own class prior, estimated from its images."""

  prior_iterations: int = settings.setting(
    3,
    'Iterations of expectation maximization in which a client estimates its'
    " shares of classes; with 1 they are the mean of the model's"
    ' probabilities. With more, a model that is often wrong is trusted more.',
    settings.AT_LEAST_1,
  )

  def find_prior(self, client: Client, logits: tf.Tensor) -> tf.Tensor:
    return estimate(
      logits,
      client.guidance['server_prior'],
      pseudo_count=self.prior_pseudo_count,
      iterations=self.prior_iterations,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TruePriorFixMix(PriorFixMix):
  """SemiFL's client with its own class prior, counted from true labels."""

  clients_have_labels = True

  def find_prior(self, client: Client, logits: tf.Tensor) -> tf.Tensor:
    del logits  # The true labels are known.
    return from_probabilities(
      tf.one_hot(client.true_labels, client.num_classes),
      client.guidance['server_prior'],
      self.prior_pseudo_count,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TruePriorSemiFL(averaging.Alternating):
  """SemiFL with priors from true labels, an upper bound of client priors."""

  labels = system.Labels.AT_SERVER_AND_CLIENTS

  client: method.Method = TruePriorFixMix()


CLIENT_PRIOR_SEMIFL = averaging.Alternating(client=ClientPriorFixMix())
