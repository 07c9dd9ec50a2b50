# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Class priors of clients, estimated from unlabeled images.

A class prior is the distribution of classes among images: float32 [classes],
positive, with sum 1. The model assumes the server's prior, but clients' priors
differ. Images of one class are assumed to be alike at all clients.

References:
  Saerens, Latinne, Decaestecker. Adjusting the outputs of a classifier to new a
  priori probabilities: a simple procedure. Neural Computation, 2002.
  Menon, Jayasumana, Rawat, Jain, Veit, Kumar. Long-tail learning via logit
  adjustment. ICLR 2021.
"""

from collections.abc import Mapping

import tensorflow as tf

from tff_semifl.core import hook_arguments
from tff_semifl.data import pipelines
from tff_semifl.label_shift import class_shares

# The least share of a class in the losses.
_LEAST_SHARE = 1e-3
# Labels per class at which the client's own prior has a weight of 1/2.
_LABELS_FOR_HALF_WEIGHT = 2.0
_BISECTIONS = 40
# As in FixMatch's code; bounds the factor of a class that is never predicted.
_EPSILON = 1e-6


def count_labels(server: hook_arguments.Server) -> tf.Tensor:
  """Counts the server's labels of each class, float32 [classes]."""
  num_classes = server.model.num_classes

  def add_counts(counts: tf.Tensor, chunk: Mapping[str, tf.Tensor]):
    labels = tf.one_hot(chunk['label'], num_classes)
    return counts + tf.reduce_sum(labels, axis=0)

  return pipelines.fold(server.data, tf.zeros([num_classes]), add_counts)


def label_weight(counts: tf.Tensor) -> tf.Tensor:
  """The default weight of a client's prior in pseudo-labels, in [0, 1].

  For n labels of C classes at the server, the weight n^2 / (n^2 + (2 C)^2)
  minimizes the squared error of the weighted prior, if the error of a client's
  estimate is proportional to 1 / n. The factor 2 was found in experiments.
  `counts`, float32 [classes], are the numbers of the server's labels.
  """
  num_classes = tf.cast(tf.size(counts), tf.float32)
  labels = tf.square(tf.reduce_sum(counts))
  return labels / (labels + tf.square(_LABELS_FOR_HALF_WEIGHT * num_classes))


def from_probabilities(
  probabilities: tf.Tensor, server_prior: tf.Tensor, pseudo_count: float
) -> tf.Tensor:
  """The maximum a posteriori prior of images, given class probabilities.

  The server's prior counts as `pseudo_count` additional images.
  `probabilities` are float32 [images, classes]; there may be no images.
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

  `logits` are float32 [images, classes], of a model trained on images with
  `server_prior`; there may be no images.
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
  """Adapts logits of a model trained with `server_prior` to `prior`."""
  return logits + (tf.math.log(prior) - tf.math.log(server_prior))


def logit_offset(prior: tf.Tensor, server_prior: tf.Tensor) -> tf.Tensor:
  """The logit offset log(prior / server_prior), with shares >= 0.001."""
  prior = tf.maximum(prior, _LEAST_SHARE)
  prior /= tf.reduce_sum(prior)
  return tf.math.log(prior) - tf.math.log(server_prior)


def strength(mean_log_shares: tf.Tensor, mean_shares: tf.Tensor) -> tf.Tensor:
  """The maximum-likelihood strength of clients' Dirichlet prior, float [...].

  Class shares of clients follow Dirichlet(strength * `mean_shares`), and
  `mean_log_shares` is the mean of their logarithms, each [..., classes]. If
  clients are alike, the result is `class_shares.GREATEST_STRENGTH`.
  """
  target = tf.reduce_sum(mean_shares * mean_log_shares, axis=-1)

  def bisect(low: tf.Tensor, high: tf.Tensor):
    middle = (low + high) / 2
    found = tf.exp(middle)
    slope = (
      tf.math.digamma(found)
      - tf.reduce_sum(
        mean_shares * tf.math.digamma(found[..., tf.newaxis] * mean_shares),
        axis=-1,
      )
      + target
    )
    return tf.where(slope > 0, middle, low), tf.where(slope > 0, high, middle)

  low, high = tf.while_loop(
    lambda *_: True,
    bisect,
    tuple(
      tf.fill(tf.shape(target), tf.math.log(tf.constant(limit, target.dtype)))
      for limit in (class_shares.LEAST_STRENGTH, class_shares.GREATEST_STRENGTH)
    ),
    maximum_iterations=_BISECTIONS,
  )
  return tf.exp((low + high) / 2)


def align(
  logits: tf.Tensor, predicted: tf.Tensor, wanted: tf.Tensor | None = None
) -> tf.Tensor:
  """Distribution alignment: logits of probabilities * wanted / predicted.

  `predicted` is the mean of the model's predictions, float32 [classes].
  `wanted` is the target distribution of classes, by default uniform.
  """
  excess = tf.math.log(predicted + _EPSILON)
  if wanted is not None:
    excess -= tf.math.log(wanted + _EPSILON)
  return logits - excess
