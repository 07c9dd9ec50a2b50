# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A check that a method labels by probabilities, and not by logits.

Both are float32 [images, classes]; labels by logits would train silently.
"""

import numpy as np
import tensorflow as tf

from tff_semifl.core import client_method
from tff_semifl.core import hook_results
from tff_semifl.core import local_steps
from tff_semifl.randomness import portable_draws
from tff_semifl.randomness import random_draws
from tff_semifl.systems import padding_check
from tff_semifl.training import rows as rows_lib

_TOLERANCE = 1e-2


def check(
  method: client_method.ClientMethod, training: local_steps.Training
) -> None:
  """Labels noise, by a model near the initial one.

  Raises:
    TypeError: If labels are negative, or add up to more than 1.
  """
  if padding_check.is_own(method):
    return

  @tf.function(autograph=False)
  def compute() -> tf.Tensor:
    with random_draws.drawing_by(portable_draws.GENERATOR):
      labeler = padding_check.create_labeler(method, training)
      rows = rows_lib.AllRows(padding_check.create_images(method, training))
      context = labeler.context(rows, labeler.received)
      labels, _, _ = labeler.label(context, rows, method.init_state(context))
      return labels.probabilities

  try:
    labels = compute().numpy()
  except tf.errors.OpError:
    # Noise may break what images keep to; training says so if they do not.
    return
  # A method may have nothing to go by before round 1.
  if not np.isfinite(labels).all():
    return
  if labels.min() < -_TOLERANCE or labels.sum(-1).max() > 1 + _TOLERANCE:
    raise hook_results.wrong(
      method.label,
      'classes or probabilities of all classes, which tf.nn.softmax makes of'
      ' logits',
      'numbers below 0, or that add up to more than 1',
    )
