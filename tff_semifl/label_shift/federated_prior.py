# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A pass over clients whose sums give a prior of class shares."""

import operator
from typing import NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.data import pipelines
from tff_semifl.label_shift import foreign_images
from tff_semifl.label_shift import input_shift
from tff_semifl.label_shift import share_prior
from tff_semifl.models import functional

_BATCH_SIZE = 250


class ClientSums(NamedTuple):
  """The sums over clients that the server receives."""

  evidence: share_prior.Evidence
  inputs: input_shift.InputSums
  entropies: tf.Tensor  # float32 [bins], `foreign_images.count`.


def build_evidence(classifier: functional.ImageClassifier) -> tff.Computation:
  """Builds the pass over clients; the server sees only sums.

  Its type is (<W@SERVER, float32[classes]@SERVER, {U*}@CLIENTS> ->
  ClientSums@SERVER). Arguments are weights, the class shares that the
  classifier assumes, and chunks of `pipelines.client_type`.
  """
  data_type = pipelines.client_type(classifier.image_shape)
  shares_type = tff.TensorType(np.float32, [classifier.num_classes])

  @tff.tensorflow.computation(classifier.weights_type, shares_type, data_type)
  def measure(
    weights: functional.ModelWeights,
    mean_shares: tf.Tensor,
    dataset: tf.data.Dataset,
  ):
    logits, *moments = _read(classifier, weights, dataset)
    return ClientSums(
      share_prior.measure(logits, mean_shares),
      input_shift.to_sums(*moments),
      foreign_images.count(logits),
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


def _read(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  dataset: tf.data.Dataset,
) -> tuple[tf.Tensor, ...]:
  """A client's logits, and the count, sum and sum of squares of summaries."""

  def add(found: tuple[tf.Tensor, ...], batch: tf.Tensor):
    logits, count, total, squares = found
    images = tf.cast(batch, tf.float32)
    numbers = tf.cast(input_shift.summarize(images), tf.float64)
    return (
      tf.concat([logits, classifier.logits(weights, images)], axis=0),
      count + tf.cast(tf.shape(images)[0], tf.float64),
      total + tf.reduce_sum(numbers, axis=0),
      squares + tf.reduce_sum(tf.square(numbers), axis=0),
    )

  size = input_shift.count_numbers(classifier.image_shape)
  nothing = tf.zeros([size], tf.float64)
  return pipelines.fold(
    dataset.map(operator.itemgetter('image')).rebatch(_BATCH_SIZE),
    (
      tf.zeros([0, classifier.num_classes]),
      tf.constant(0.0, tf.float64),
      nothing,
      nothing,
    ),
    add,
    shapes=(
      tf.TensorShape([None, classifier.num_classes]),
      tf.TensorShape([]),
      nothing.shape,
      nothing.shape,
    ),
  )
