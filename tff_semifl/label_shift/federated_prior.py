# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""One pass over clients that estimates a prior of their class shares."""

import operator

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.data import folding
from tff_semifl.data import pipelines
from tff_semifl.label_shift import share_prior
from tff_semifl.models import functional

_BATCH_SIZE = 250


def build_evidence(classifier: functional.ImageClassifier) -> tff.Computation:
  """Builds the pass over clients.

  Its type is (<W@SERVER, float32[classes]@SERVER, {U*}@CLIENTS> ->
  Evidence@SERVER): weights, the class shares that the classifier assumes, and
  chunks of `pipelines.client_type`. The server sees only sums over clients, of
  three numbers for each temperature and strength, and two more.
  """
  data_type = pipelines.client_type(classifier.image_shape)
  shares_type = tff.TensorType(np.float32, [classifier.num_classes])

  @tff.tensorflow.computation(classifier.weights_type, shares_type, data_type)
  def measure(
    weights: functional.ModelWeights,
    mean_shares: tf.Tensor,
    dataset: tf.data.Dataset,
  ):
    return share_prior.measure(
      _predict(classifier, weights, dataset), mean_shares
    )

  @tff.federated_computation(
    tff.FederatedType(classifier.weights_type, tff.SERVER),
    tff.FederatedType(shares_type, tff.SERVER),
    tff.FederatedType(data_type, tff.CLIENTS),
  )
  def find_evidence(weights, mean_shares, dataset):
    measured = tff.federated_map(
      measure,
      (
        tff.federated_broadcast(weights),
        tff.federated_broadcast(mean_shares),
        dataset,
      ),
    )
    return tff.federated_sum(measured)

  return find_evidence


def _predict(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  dataset: tf.data.Dataset,
) -> tf.Tensor:
  """Logits of all images of a client, float32 [images, classes]."""

  def append(found: tf.Tensor, batch: tf.Tensor) -> tf.Tensor:
    logits = classifier.logits(weights, tf.cast(batch, tf.float32))
    return tf.concat([found, logits], axis=0)

  return folding.fold(
    dataset.map(operator.itemgetter('image')).rebatch(_BATCH_SIZE),
    tf.zeros([0, classifier.num_classes]),
    append,
    shapes=tf.TensorShape([None, classifier.num_classes]),
  )
