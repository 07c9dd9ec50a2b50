# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Sharpness-aware consistency of a client's predictions ((FL)^2, G.3).

References:
  Lee, Le, Shin, Lee. (FL)^2: Overcoming few labels in federated semi-supervised
  learning. NeurIPS 2024.
  Kwon, Kim, Park, Choi. ASAM: Adaptive sharpness-aware minimization for
  scale-invariant learning of deep neural networks. ICML 2021.
"""

from collections.abc import Callable, Sequence
import dataclasses

import tensorflow as tf

from tff_semifl.models import functional
from tff_semifl.training import losses

# Weights that multiply nothing, so that their size has no scale.
_ADDED = ('bias:0', 'beta:0')
# Both are ASAM's: the least size of a weight, and what keeps 0 / 0 away.
_LEAST_SIZE = 0.01
_EPSILON = 1e-16


@dataclasses.dataclass(frozen=True, kw_only=True)
class Consistency:
  """Predictions should not change where the model is moved up its loss.

  Attributes:
    radius: How far weights are moved, in their own size, rho in the paper.
    weight: Factor on the loss.
    confidence_threshold: Confidence from which on a pseudo-label counts.
  """

  radius: float
  weight: float
  confidence_threshold: float

  def loss(
    self,
    weights: functional.ModelWeights,
    logits: tf.Tensor,
    labels: tf.Tensor,
    confidences: tf.Tensor,
    row_weights: tf.Tensor | None = None,
    *,
    logits_fn: Callable[[functional.ModelWeights], tf.Tensor],
    names: Sequence[str],
  ) -> tf.Tensor:
    """Returns the loss of a batch, inside a `tf.function`.

    Its gradient is that of the model at the moved weights.

    Args:
      weights: The weights in this step.
      logits: float32 [batch, classes], those of the views, in training mode.
      labels: int32 [batch], the pseudo-labels of the views.
      confidences: float32 [batch], those of the labels.
      row_weights: float32 [batch], what each view weighs in a mean over all
        rows, 0 for padding; by default all weigh 1.
      logits_fn: Weights -> the logits that the views have with them, with the
        same dropout.
      names: For each trainable weight `<layer>/<weight>:0`.

    Returns:
      A float32 scalar, at least zero; zero if no label counts.
    """
    is_sure = tf.cast(confidences >= self.confidence_threshold, tf.float32)
    if row_weights is not None:
      is_sure *= row_weights
    num_sure = tf.reduce_sum(is_sure)
    share = tf.math.divide_no_nan(
      tf.cast(tf.size(is_sure), tf.float32), num_sure
    )
    # Two nested tapes would compute what second derivatives need.
    gradients = tf.gradients(
      losses.cross_entropy(logits, labels, is_sure * share),
      list(weights.trainable),
    )
    moved = tuple(
      weight + tf.stop_gradient(step)
      for weight, step in zip(
        weights.trainable,
        ascent(
          weights.trainable,
          gradients,
          names=names,
          radius=self.radius,
        ),
        strict=True,
      )
    )
    moved_logits = logits_fn(weights._replace(trainable=moved))
    return self.weight * losses.divergence(logits, moved_logits, is_sure)


def ascent(
  weights: Sequence[tf.Tensor],
  gradients: Sequence[tf.Tensor],
  *,
  names: Sequence[str],
  radius: float,
) -> list[tf.Tensor]:
  """Returns the step up the loss within a radius, by ASAM.

  A step is measured in sizes of weights, so that it is as long for a model
  whose weights are scaled and that computes the same. The size of a bias is 1.

  Args:
    weights: float32 tensors.
    gradients: Those of the loss, of the same shapes.
    names: For each weight `<layer>/<weight>:0`.
    radius: The length of the step, at least 0.

  Returns:
    float32 tensors of the same shapes; zeros where the gradient is zero.
  """
  sizes = [
    tf.ones_like(weight)
    if name.endswith(_ADDED)
    else tf.abs(weight) + _LEAST_SIZE
    for weight, name in zip(weights, names, strict=True)
  ]
  scaled = [s * g for s, g in zip(sizes, gradients, strict=True)]
  length = radius / (tf.linalg.global_norm(scaled) + _EPSILON)
  return [s * g * length for s, g in zip(sizes, scaled, strict=True)]
