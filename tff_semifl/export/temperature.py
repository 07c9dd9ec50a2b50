# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Temperature scaling, which calibrates a model's probabilities.

References:
  Guo, Pleiss, Sun, Weinberger. On Calibration of Modern Neural Networks. ICML
  2017, section 4.2.
"""

from typing import NamedTuple

import numpy as np
from scipy import optimize
from scipy import special
import tensorflow as tf

from tff_semifl.metrics import metric


class Temperature(NamedTuple):
  """A divisor of logits, and its effect on the images that it was fitted to.

  The mean negative log-likelihood is `nll_before` at temperature 1, and
  `nll_after` at temperature `value`.
  """

  value: float
  num_images: int
  nll_before: float
  nll_after: float


def fit(labels: np.ndarray, logits: np.ndarray) -> Temperature:
  """Fits the temperature that minimizes the negative log-likelihood.

  The images must not have been trained on. `labels` are int [images], `logits`
  float [images, classes]. Raises a `ValueError` if no temperature is best.
  """
  logits = logits.astype(np.float64)
  of_labels = np.take_along_axis(logits, labels[:, np.newaxis], axis=1)[:, 0]
  is_right = of_labels == logits.max(axis=1)
  if is_right.all() or of_labels.mean() <= logits.mean():
    how = 'right about all' if is_right.all() else 'no better than chance at'
    raise ValueError(
      f'{len(labels)} validation images do not tell a temperature: the model is'
      f' {how} of them; keep more with --num_validation, or leave this out'
    )

  def slope(inverse: float) -> float:
    """The derivative of the loss by 1 / temperature, an increasing function."""
    probabilities = special.softmax(inverse * logits, axis=1)
    expected = np.sum(probabilities * logits, axis=1)
    return float(np.mean(expected - of_labels))

  # The slope is negative at 0, as the model is better than chance, and positive
  # for large values, as the model misclassifies some image.
  most = 1.0
  while slope(most) <= 0:
    most *= 2
  inverse = optimize.brentq(slope, 0, most)
  return Temperature(
    1 / inverse,
    len(labels),
    metric.nll(labels, logits),
    metric.nll(labels, inverse * logits),
  )


def apply(model: tf.keras.Model, temperature: Temperature) -> tf.keras.Model:
  """A model with `model`'s weights, and its logits divided by a temperature."""
  scaled = tf.keras.layers.Rescaling(1 / temperature.value, name='temperature')
  return tf.keras.Model(model.inputs, scaled(model.outputs[0]), name=model.name)
