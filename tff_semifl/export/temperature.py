# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Temperature scaling, which calibrates a model's probabilities.

References:
  Guo, Pleiss, Sun, Weinberger. On Calibration of Modern Neural Networks. ICML
  2017, section 4.2.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import optimize
import tensorflow as tf

from tff_semifl.metrics import probability_metrics

_LEAST, _MOST = 0.05, 20.0


class Temperature(NamedTuple):
  """A temperature, and its effect on the images that it was fitted to.

  Attributes:
    value: The divisor of logits.
    num_images: Number of these images.
    nll_before: Their mean negative log likelihood at temperature 1.
    nll_after: Their mean negative log likelihood at this temperature.
  """

  value: float
  num_images: int
  nll_before: float
  nll_after: float


def fit(labels: np.ndarray, logits: np.ndarray) -> Temperature:
  """The temperature that minimizes the negative log likelihood.

  Args:
    labels: int [images], of images that were not trained on.
    logits: float [images, classes].

  Raises:
    ValueError: If the minimum is not in 0.05..20.
  """

  def nll(log_temperature: float) -> float:
    return probability_metrics.nll(labels, logits / math.exp(log_temperature))

  bounds = math.log(_LEAST), math.log(_MOST)
  found = optimize.minimize_scalar(
    nll, bounds=bounds, method='bounded', options={'xatol': 1e-6}
  )
  if min(abs(found.x - bound) for bound in bounds) < 1e-3:
    raise ValueError(
      f'{len(labels)} validation images do not tell a temperature: the best is'
      f' not in {_LEAST:g}..{_MOST:g}, as if all or too few of them are right'
    )
  return Temperature(math.exp(found.x), len(labels), nll(0.0), float(found.fun))


def apply(model: tf.keras.Model, temperature: Temperature) -> tf.keras.Model:
  """A model of the same weights whose logits are divided by a temperature."""
  scaled = tf.keras.layers.Rescaling(1 / temperature.value, name='temperature')
  return tf.keras.Model(model.inputs, scaled(model.outputs[0]), name=model.name)
