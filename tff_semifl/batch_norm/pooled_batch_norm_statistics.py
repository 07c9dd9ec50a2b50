# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Statistics for static batch normalization as SemiFL's authors compute them.

The procedure of the code behind the tables of SemiFL (NeurIPS 2022), where it
differs from appendix B (D8, D9, D10). Of the server's images alone a server can
compute it; with those of all clients it takes all images in one place: a
simulation may do so, a federation could not.
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
  """Builds the statistics of images that a single place sees (D9, "central").

  For numbers that are to be compared with those of the tables, not for
  clients whose images are their own. Images come in the order of the authors:

  - SemiFL: the server's, class by class, then those of all clients in the order
    of the data set (D10); with statistics of the server only (Table 3), just
    the former.
  - Training in one place: the labeled images, class by class, or all images in
    the order of the data set; batches are those of training (D.1).
  - The final test of a federated system: all training images in the order of
    the data set, in batches of the server's training (D11).

  Batches go across the boundaries of chunks, of clients and of classes. The
  statistics are plain means over batches, of batch means and of
  unbiased batch variances (D8): the last batch counts as much as a full one,
  and differences between batches count for nothing. Where batches are of one
  class each, as labeled images in their order are, the variance is therefore
  too small, in the extreme nought. Appendix B's formula, which the other two
  builders use, has no such gap. With a single batch both are the same.

  Args:
    classifier: A model with static batch normalization.
    batch_size: Images of a batch, at least 1.

  Returns:
    A computation with W for model weights and chunks of bare images, H by W
    with C channels:

        (<W@SERVER, uint8[?,H,W,C]*@SERVER> -> W@SERVER)

    Without any image it returns the weights as they are.

  Raises:
    ValueError: If the model has no static batch normalization.
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
  """Adds a batch to a plain mean over batches (D8).

  Args:
    total: float [3, channels]: the number of batches so far, the mean of
      their means and that of their unbiased variances.
    moments: float [3, channels] of another batch: count, mean, sum of
      squared deviations.

  Returns:
    The new total.
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
