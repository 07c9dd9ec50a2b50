# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Sharpness-aware consistency of a client's predictions, of (FL)^2.

References:
  Lee, Le, Shin, Lee. (FL)^2: Overcoming few labels in federated semi-supervised
  learning. NeurIPS 2024. Equations 12 and 13.
  Kwon, Kim, Park, Choi. ASAM: Adaptive sharpness-aware minimization for
  scale-invariant learning of deep neural networks. ICML 2021.
"""

from collections.abc import Callable, Sequence
import dataclasses

import tensorflow as tf

from tff_semifl.models import functional
from tff_semifl.training import losses

# Weights that multiply nothing, so that their size is no scale.
_BIAS_SUFFIXES = ('bias:0', 'beta:0')
# From ASAM: the least size of a weight, and a denominator above 0.
_LEAST_SIZE = 0.01
_EPSILON = 1e-16


@dataclasses.dataclass(frozen=True, kw_only=True)
class Consistency:
  """A loss that keeps predictions the same at perturbed weights.

  Attributes:
    radius: Length of the perturbation, relative to the size of weights; rho in
      the paper.
    weight: Weight of the loss.
    confidence_threshold: Least confidence of a pseudo-label that counts.
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
    """The loss of a batch, a float32 scalar; 0 if no label counts.

    Its gradient is that at the perturbed weights. Call it inside a
    `tf.function`. `logits` are float32 [batch, classes], in training mode,
    `labels` and `confidences` those of pseudo-labels, `row_weights` float32
    [batch], weights in a mean over all rows. `logits_fn` is weights -> logits
    of the same images, with the same dropout; `names` are `<layer>/<weight>:0`
    for each trainable weight.
    """
    is_sure = tf.cast(confidences >= self.confidence_threshold, tf.float32)
    if row_weights is not None:
      is_sure *= row_weights
    num_sure = tf.reduce_sum(is_sure)
    share = tf.math.divide_no_nan(
      tf.cast(tf.size(is_sure), tf.float32), num_sure
    )
    # Nested tapes would also compute what second derivatives need.
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
  """ASAM's step up the loss, of length `radius` relative to the weights.

  Its effect does not depend on the scale of weights. The size of a bias is 1.
  The step is zero where the gradient is zero. `names` are `<layer>/<weight>:0`.
  """
  sizes = [
    tf.ones_like(weight)
    if name.endswith(_BIAS_SUFFIXES)
    else tf.abs(weight) + _LEAST_SIZE
    for weight, name in zip(weights, names, strict=True)
  ]
  scaled = [s * g for s, g in zip(sizes, gradients, strict=True)]
  length = radius / (tf.linalg.global_norm(scaled) + _EPSILON)
  return [s * g * length for s, g in zip(sizes, scaled, strict=True)]
