# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""How foreign an image is: of none of the classes, by its class probabilities.

A classifier is less sure of images of none of the classes. Clients count their
images by the entropy of class probabilities, relative to that of equal
probabilities. The sum over clients gives quantiles, with which an image is
compared.
"""

import math

import numpy as np
from scipy import special
import tensorflow as tf

_BINS = 512
QUANTILES = np.linspace(0, 1, 101)


def count(logits: tf.Tensor) -> tf.Tensor:
  """Counts images by relative entropy, float32 [bins].

  `logits` are float32 [images, classes], with at least two classes.
  """
  logs = tf.nn.log_softmax(logits)
  entropy = -tf.reduce_sum(tf.exp(logs) * logs, axis=1)
  relative = entropy / math.log(logits.shape[1])
  return tf.cast(
    tf.histogram_fixed_width(relative, [0.0, 1.0], _BINS), tf.float32
  )


def find_quantiles(counts: np.ndarray) -> tuple[float, ...]:
  """The entropies below which 0%, 1%, and so on to 100% of the images are."""
  below = np.append(0, np.cumsum(counts, dtype=np.float64))
  edges = np.linspace(0, 1, _BINS + 1)
  return tuple(np.interp(QUANTILES, below / below[-1], edges).tolist())


def compare(
  probabilities: np.ndarray, quantiles: tuple[float, ...]
) -> np.ndarray:
  """The share of clients' images in training that are less foreign.

  Args:
    probabilities: float [images, classes].
    quantiles: From `find_quantiles`.

  Returns:
    float64 [images], in 0..1. Of images like those of training, one in twenty
    has a share above 0.95.
  """
  entropy = special.entr(probabilities.astype(np.float64)).sum(axis=1)
  relative = entropy / math.log(probabilities.shape[1])
  return np.interp(relative, quantiles, QUANTILES)
