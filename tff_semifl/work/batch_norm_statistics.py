# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Statistics for static batch normalisation, computed for given weights.

SemiFL (NeurIPS 2022), appendix B and section 3.4; A.5, D8 to D10. A pass over
un-augmented images in training mode sees what goes into each normalisation
layer; its mean and variance over all images become the layer's statistics.

Whose images these are is the choice of a builder. Each returns a computation
`(<W@SERVER, D> -> W@SERVER)` that replaces the statistics among the weights W:

    build_server_batch_norm_statistics     the server's images, appendix B
    build_federated_batch_norm_statistics  the clients' images, appendix B
    build_pooled_batch_norm_statistics     all in one place, the authors' code
"""

from collections.abc import Callable, Iterable

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.data import folding
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
  check_has_statistics(classifier)
  data_type = pipelines.labelled_type(classifier.image_shape)

  @tff.tensorflow.computation(classifier.weights_type, data_type)
  def compute(weights: functional.ModelWeights, dataset: tf.data.Dataset):
    images = dataset.map(lambda chunk: chunk['image'])
    moments = fold_batches(classifier, weights, images, merge_moments)
    return replace_statistics(weights, map(unbiased_statistics, moments))

  return place_at_server(compute)


def check_has_statistics(classifier: functional.ImageClassifier) -> None:
  """Raises a ValueError for a model without static batch normalisation."""
  if classifier.batch_moments is None:
    raise ValueError(
      'The model has no static batch normalisation to have statistics of.'
    )


def place_at_server(compute: tff.Computation) -> tff.Computation:
  """Makes (<W@SERVER, D@SERVER> -> W@SERVER) of (<W, D> -> W)."""
  weights_type, data_type = compute.type_signature.parameter

  @tff.federated_computation(
    tff.FederatedType(weights_type, tff.SERVER),
    tff.FederatedType(data_type, tff.SERVER),
  )
  def batch_norm_statistics(weights, dataset):
    return tff.federated_map(compute, (weights, dataset))

  return batch_norm_statistics


def zero_moments(
  classifier: functional.ImageClassifier,
) -> tuple[tf.Tensor, ...]:
  """Returns for each layer float32 [3, channels] of zeros: no values yet."""
  # Each layer has two statistics, mean and variance, of the same shape.
  return tuple(
    tf.zeros([3, *mean.shape], tf.float32)
    for mean in classifier.initial_weights.non_trainable[::2]
  )


def fold_batches(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  images: tf.data.Dataset,
  add_fn: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
  *,
  batch_size: int = STATISTICS_BATCH_SIZE,
) -> tuple[tf.Tensor, ...]:
  """Puts together what each layer sees in batches of images.

  Images are taken in the order they come, across the boundaries of chunks; the
  last batch may be smaller. No more than a chunk and a batch of them are in
  memory, unless `images` itself is.

  Args:
    classifier: A model with static batch normalisation, in training mode.
    weights: Its weights.
    images: Chunks, uint8 [number, height, width, channels].
    add_fn: (total, moments of a batch) -> total, for one layer, each float32
      [3, channels]. Moments are count, mean and sum of squared deviations.
    batch_size: Images of a batch, at least 1.

  Returns:
    The total of each layer; zeros if there is no image.
  """

  def add_batch(
    totals: tuple[tf.Tensor, ...], batch: tf.Tensor
  ) -> tuple[tf.Tensor, ...]:
    moments = classifier.batch_moments(weights, tf.cast(batch, tf.float32))
    return tuple(map(add_fn, totals, moments))

  return folding.fold(
    images.rebatch(batch_size), zero_moments(classifier), add_batch
  )


def merge_moments(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
  """Returns the moments of two sets of values taken together.

  Sums of values and of squares would be simpler to add up, but the variance is
  their difference, of which float32 leaves little if the mean is large.

  Args:
    first: float32 [3, channels]: count, mean, sum of squared deviations.
    second: The same. No values are three zeros, and change nothing.

  References:
    Chan, Golub, LeVeque. Updating formulae and a pairwise algorithm for
    computing sample variances. 1979.
  """
  first_count, first_mean, first_deviations = tf.unstack(first)
  second_count, second_mean, second_deviations = tf.unstack(second)
  count = first_count + second_count
  difference = second_mean - first_mean
  share = tf.math.divide_no_nan(second_count, count)
  return tf.stack(
    [
      count,
      first_mean + difference * share,
      first_deviations
      + second_deviations
      + tf.square(difference) * first_count * share,
    ]
  )


def unbiased_statistics(moments: tf.Tensor) -> tf.Tensor:
  """Returns count, mean and unbiased variance, float32 [3, channels].

  The variance of a single value is 0.

  Args:
    moments: float32 [3, channels]: count, mean, sum of squared deviations.
  """
  count, mean, deviations = tf.unstack(moments)
  return tf.stack([count, mean, deviations / tf.maximum(count - 1.0, 1.0)])


def replace_statistics(
  weights: functional.ModelWeights, statistics: Iterable[tf.Tensor]
) -> functional.ModelWeights:
  """Returns the weights with new statistics.

  Args:
    weights: Of a model with static batch normalisation.
    statistics: For each layer float32 [3, channels]: a count, mean, variance.
      Where the count is 0 nothing is replaced.
  """
  counts, new = [], []
  for layer in statistics:
    count, mean, variance = tf.unstack(layer)
    counts += [count, count]
    new += [mean, variance]
  return functional.ModelWeights(
    weights.trainable,
    tuple(
      tf.where(count > 0, statistic, old)
      for count, statistic, old in zip(
        counts, new, weights.non_trainable, strict=True
      )
    ),
  )
