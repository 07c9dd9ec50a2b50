# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Statistics for static batch normalization by the code of SemiFL's authors.

It differs from appendix B of the paper. Over the images of all clients it is
possible only in a simulation, which has them in one place.
"""

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.batch_norm import batch_norm_statistics
from tff_semifl.data import pipelines
from tff_semifl.models import functional


def build_pooled_batch_norm_statistics(
  classifier: functional.ImageClassifier,
  *,
  batch_size: int = batch_norm_statistics.STATISTICS_BATCH_SIZE,
) -> tff.Computation:
  """Builds the statistics of images in one place, to reproduce SemiFL's tables.

  The order of images is the authors':

  - SemiFL: the server's, class by class, then those of all clients in the order
    of the data set; with statistics of the server only (Table 3), the former.
  - Training in one place: the labeled images, class by class, or all images in
    the order of the data set, in batches of the size of training.
  - The final test of a federated system: all training images in the order of
    the data set, in batches of the server's training.

  Batches cross the boundaries of chunks, clients and classes. The statistics
  are plain means over batches, of batch means and of unbiased batch variances:
  the last batch counts as much as a full one, and differences between batches
  are ignored, so that the variance is too small if each batch has one class.

  Returns:
    A computation with W for model weights and chunks of bare images, H by W
    with C channels:

        (<W@SERVER, uint8[?,H,W,C]*@SERVER> -> W@SERVER)

    Without images it returns the weights unchanged.
  """
  batch_norm_statistics.check_has_statistics(classifier)
  data_type = tff.SequenceType(pipelines.batch_type(classifier.image_shape))

  @tff.tensorflow.computation(classifier.weights_type, data_type)
  def compute(weights: functional.ModelWeights, dataset: tf.data.Dataset):
    return batch_norm_statistics.replace_statistics(
      weights,
      batch_norm_statistics.fold_batches(
        classifier, weights, dataset, average_batches, batch_size=batch_size
      ),
    )

  return batch_norm_statistics.place_at_server(compute)


def average_batches(total: tf.Tensor, moments: tf.Tensor) -> tf.Tensor:
  """Adds a batch to a plain mean over batches.

  Args:
    total: float [3, channels]: the number of batches, the mean of their means
      and the mean of their unbiased variances.
    moments: float [3, channels] of another batch: count, mean, sum of squared
      deviations.
  """
  num_batches, *averages = tf.unstack(total)
  _, *statistics = tf.unstack(
    batch_norm_statistics.unbiased_statistics(moments)
  )
  num_batches += 1.0
  return tf.stack(
    [
      num_batches,
      *(
        average + (statistic - average) / num_batches
        for average, statistic in zip(averages, statistics, strict=True)
      ),
    ]
  )
