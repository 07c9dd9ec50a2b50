# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Temperature scaling: probabilities that are nearer to the share right.

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
  """A temperature, and what it does to the images that it was chosen on.

  Attributes:
    value: What logits are divided by.
    num_images: Number of these images.
    nll_before: Their mean negative log likelihood with a temperature of 1.
    nll_after: The same with this temperature.
  """

  value: float
  num_images: int
  nll_before: float
  nll_after: float


def fit(labels: np.ndarray, logits: np.ndarray) -> Temperature:
  """Chooses the temperature with the least negative log likelihood.

  Args:
    labels: int [images], of images that nobody was trained on.
    logits: float [images, classes].

  Raises:
    ValueError: If the best is none from 0.05 to 20.
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
  """Returns a model of the same weights, whose logits are divided by it.

  Args:
    model: The model, to logits.
    temperature: The temperature.
  """
  scaled = tf.keras.layers.Rescaling(1 / temperature.value, name='temperature')
  return tf.keras.Model(model.inputs, scaled(model.outputs[0]), name=model.name)
