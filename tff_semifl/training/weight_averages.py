# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Moving averages of weights, as of Mean Teacher's teacher.

References:
  Tarvainen, Valpola. Mean teachers are better role models: Weight-averaged
  consistency targets improve semi-supervised deep learning results. NeurIPS
  2017.
"""

from typing import Any

import tensorflow as tf


def move(average: Any, weights: Any, decay: float | tf.Tensor) -> Any:
  """`decay * average + (1 - decay) * weights`, for structures of tensors.

  `decay` is a scalar in [0, 1].
  """
  return tf.nest.map_structure(
    lambda old, new: decay * old + (1.0 - decay) * new, average, weights
  )
