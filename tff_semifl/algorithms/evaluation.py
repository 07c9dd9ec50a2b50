# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Measuring a model on test data, and pseudo-labels against the truth."""

import collections
from collections.abc import Mapping
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import losses
from tff_semifl import pseudo_labels
from tff_semifl.augment import augmentation
from tff_semifl.data import folding
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.work import pseudo_labelling
from tff_semifl.work import round_context
from tff_semifl.work import training_loop


def build_evaluation(
  classifier: functional.ImageClassifier,
) -> tff.Computation:
  """Builds the evaluation of a model on labelled images.

  Args:
    classifier: The model, evaluated in inference mode.

  Returns:
    A computation with W for model weights and L for chunks of
    `pipelines.labelled_type`, evaluated chunk by chunk:

        (<W@SERVER, L*@SERVER> -> <accuracy=float32, loss=float32>@SERVER)

    Both are means over all images; 0 if there are none.
  """
  data_type = pipelines.labelled_type(classifier.image_shape)

  @tff.tensorflow.computation(classifier.weights_type, data_type)
  def evaluate(weights: functional.ModelWeights, dataset: tf.data.Dataset):
    def add_chunk(sums: tuple[tf.Tensor, ...], chunk: Mapping[str, tf.Tensor]):
      num_correct, loss, count = sums
      logits = classifier.logits(weights, tf.cast(chunk['image'], tf.float32))
      size = tf.cast(tf.shape(logits)[0], tf.float32)
      mean_loss = losses.cross_entropy(logits, chunk['label'])
      return (
        num_correct + training_loop.count_correct(logits, chunk['label']),
        loss + tf.math.multiply_no_nan(mean_loss, size),
        count + size,
      )

    num_correct, loss, count = folding.fold(dataset, (0.0, 0.0, 0.0), add_chunk)
    return collections.OrderedDict(
      accuracy=tf.math.divide_no_nan(num_correct, count),
      loss=tf.math.divide_no_nan(loss, count),
    )

  @tff.federated_computation(
    tff.FederatedType(classifier.weights_type, tff.SERVER),
    tff.FederatedType(data_type, tff.SERVER),
  )
  def evaluation(weights, dataset):
    return tff.federated_map(evaluate, (weights, dataset))

  return evaluation


class _LabelSums(NamedTuple):
  """Sums over images; float32 scalars."""

  num_images: tf.Tensor
  num_correct: tf.Tensor
  num_confident: tf.Tensor
  num_confident_correct: tf.Tensor
  weighted_threshold_accuracy: tf.Tensor


def build_pseudo_label_evaluation(
  classifier: functional.ImageClassifier,
  *,
  weak_augmentation: augmentation.Augmentation,
  confidence_threshold: float,
) -> tff.Computation:
  """Builds the comparison of a round's pseudo-labels with the truth (A.14).

  It is apart from training and the only computation that sees true labels at
  clients. For the weights that a round starts from, and that round's context,
  it makes the very pseudo-labels that the clients then train on.

  Args:
    classifier: The model.
    weak_augmentation: As in training.
    confidence_threshold: As in training.

  Returns:
    A computation with W for model weights, R for `RoundContext` and U for
    chunks of `pipelines.client_with_true_labels_type`:

        (<W@SERVER, R@SERVER, {U*}@CLIENTS>
         -> <pseudo_accuracy=float32, threshold_accuracy=float32,
             micro_threshold_accuracy=float32>@SERVER)

    `pseudo_accuracy` is the share of right labels among all images,
    `threshold_accuracy` the share of right ones among each client's confident
    ones, 0 for a client with none, averaged over clients by their number of
    images, as in the paper's figures; that is low where few are confident.
    `micro_threshold_accuracy` is the share of right ones among all confident
    images of the cohort (D17).
  """
  data_type = pipelines.client_with_true_labels_type(classifier.image_shape)

  @tff.tensorflow.computation(
    classifier.weights_type, round_context.ROUND_CONTEXT_TYPE, data_type
  )
  def compare(
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    dataset: tf.data.Dataset,
  ):
    data = pipelines.concatenate_chunks(dataset)
    labels = pseudo_labelling.label_images(
      classifier,
      weights,
      data['image'],
      context=context,
      client_id=data['client_id'],
      weak_augmentation=weak_augmentation,
    )
    is_correct = tf.cast(
      tf.equal(labels.labels, data['true_label']), tf.float32
    )
    is_confident = tf.cast(
      pseudo_labels.is_confident(labels, confidence_threshold), tf.float32
    )
    num_images = tf.cast(tf.shape(is_correct)[0], tf.float32)
    return _LabelSums(
      num_images=num_images,
      num_correct=tf.reduce_sum(is_correct),
      num_confident=tf.reduce_sum(is_confident),
      num_confident_correct=tf.reduce_sum(is_correct * is_confident),
      weighted_threshold_accuracy=num_images
      * tf.math.divide_no_nan(
        tf.reduce_sum(is_correct * is_confident),
        tf.reduce_sum(is_confident),
      ),
    )

  @tff.tensorflow.computation(compare.type_signature.result)
  def summarize(sums: Any):
    return collections.OrderedDict(
      pseudo_accuracy=tf.math.divide_no_nan(sums.num_correct, sums.num_images),
      threshold_accuracy=tf.math.divide_no_nan(
        sums.weighted_threshold_accuracy, sums.num_images
      ),
      micro_threshold_accuracy=tf.math.divide_no_nan(
        sums.num_confident_correct, sums.num_confident
      ),
    )

  @tff.federated_computation(
    tff.FederatedType(classifier.weights_type, tff.SERVER),
    tff.FederatedType(round_context.ROUND_CONTEXT_TYPE, tff.SERVER),
    tff.FederatedType(data_type, tff.CLIENTS),
  )
  def pseudo_label_evaluation(weights, context, dataset):
    received = (
      tff.federated_broadcast(weights),
      tff.federated_broadcast(context),
    )
    sums = tff.federated_map(compare, (*received, dataset))
    return tff.federated_map(summarize, tff.federated_sum(sums))

  return pseudo_label_evaluation
