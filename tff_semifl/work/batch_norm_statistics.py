# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Statistics for static batch normalisation, computed for given weights.

SemiFL (NeurIPS 2022), appendix B and section 3.4; A.5, D8 to D10. A pass over
un-augmented images in training mode sees what goes into each normalisation
layer; its mean and variance over all images become the layer's statistics.
"""

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.data import pipelines
from tff_semifl.models import functional

# Deeper layers see inputs normalised by the statistics of such a batch.
STATISTICS_BATCH_SIZE = 250


def build_server_batch_norm_statistics(
  classifier: functional.ImageClassifier,
) -> tff.Computation:
  """Builds the statistics of the server's own images (D10, "server only").

  Nothing but the model ever leaves a client for them. Mean and variance are
  those of all images, by appendix B's formula over batches of 250 in the order
  the images come (D8): the variance is unbiased and includes the differences
  between batches.

  Args:
    classifier: A model with static batch normalisation.

  Returns:
    A computation with W for model weights and L for chunks of
    `pipelines.labelled_type`:

        (<W@SERVER, L*@SERVER> -> W@SERVER)

    Without any image it returns the weights as they are.

  Raises:
    ValueError: If the model has no static batch normalisation.
  """
  if classifier.batch_moments is None:
    raise ValueError(
      'The model has no static batch normalisation to have statistics of.'
    )
  data_type = pipelines.labelled_type(classifier.image_shape)

  @tff.tensorflow.computation(classifier.weights_type, data_type)
  def compute(weights: functional.ModelWeights, dataset: tf.data.Dataset):
    images = pipelines.concatenate_chunks(dataset)['image']
    moments = _moments_of(classifier, weights, images)
    statistics = []
    for count, mean, squared_deviations in moments:
      statistics += [mean, squared_deviations / tf.maximum(count - 1.0, 1.0)]
    return functional.ModelWeights(
      weights.trainable,
      tuple(
        tf.where(tf.shape(images)[0] > 0, new, old)
        for new, old in zip(statistics, weights.non_trainable, strict=True)
      ),
    )

  @tff.federated_computation(
    tff.FederatedType(classifier.weights_type, tff.SERVER),
    tff.FederatedType(data_type, tff.SERVER),
  )
  def server_batch_norm_statistics(weights, dataset):
    return tff.federated_map(compute, (weights, dataset))

  return server_batch_norm_statistics


def _moments_of(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  images: tf.Tensor,
) -> list[tuple[tf.Tensor, tf.Tensor, tf.Tensor]]:
  """Returns count, mean and squared deviations of each layer's input."""
  num_images = tf.shape(images)[0]

  def add_batch(start: tf.Tensor, totals: list[tf.Tensor]):
    stop = start + STATISTICS_BATCH_SIZE
    batch = tf.cast(images[start:stop], tf.float32)
    moments = classifier.batch_moments(weights, batch)
    return stop, [
      merge_moments(total, new)
      for total, new in zip(totals, moments, strict=True)
    ]

  # Each layer has two statistics, mean and variance, of the same shape.
  totals = [
    tf.zeros([3, *mean.shape], tf.float32)
    for mean in weights.non_trainable[::2]
  ]
  _, totals = tf.while_loop(
    lambda start, _: start < num_images, add_batch, (0, totals)
  )
  return [tuple(tf.unstack(total)) for total in totals]


def merge_moments(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
  """Returns the moments of two sets of values taken together.

  Args:
    first: float32 [3, channels]: count, mean, sum of squared deviations.
    second: The same, with a positive count.

  References:
    Chan, Golub, LeVeque. Updating formulae and a pairwise algorithm for
    computing sample variances. 1979.
  """
  first_count, first_mean, first_deviations = tf.unstack(first)
  second_count, second_mean, second_deviations = tf.unstack(second)
  count = first_count + second_count
  difference = second_mean - first_mean
  share = second_count / count
  return tf.stack(
    [
      count,
      first_mean + difference * share,
      first_deviations
      + second_deviations
      + tf.square(difference) * first_count * share,
    ]
  )
