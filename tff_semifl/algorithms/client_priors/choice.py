# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Chooses the classifier to export: labels alone, mixture or head."""

from typing import NamedTuple

import tensorflow as tf

from tff_semifl.algorithms.client_priors import components as components_lib
from tff_semifl.algorithms.client_priors import held_out
from tff_semifl.algorithms.client_priors import labels_alone
from tff_semifl.algorithms.client_priors import logistic_regression
from tff_semifl.algorithms.client_priors import mixture
from tff_semifl.algorithms.client_priors import server_steps
from tff_semifl.algorithms.client_priors import state

# The setting that leaves the choice to held-out labels.
CHOSEN = 'chosen'


class Choice(NamedTuple):
  """The chosen classifier, and what it was chosen by.

  Attributes:
    kept: int32 scalar, the index of the classifier in `held_out.CANDIDATES`.
    weights: float64 [features + 1, classes], its weights for raw features.
    temperature: float64 scalar, by which its logits are divided.
    has_examples: bool scalar, whether clients have enough examples.
    server_spread: float64 scalar, `client_sums.Means.spread` of the labeled
      examples in place of a client's.
    scores: The scores of all candidates.
  """

  kept: tf.Tensor
  weights: tf.Tensor
  temperature: tf.Tensor
  has_examples: tf.Tensor
  server_spread: tf.Tensor
  scores: held_out.Scores


def choose(
  alone: labels_alone.Fitted,
  components: components_lib.Components,
  estimate: state.Estimate,
  raw: tf.Tensor,
  labels: held_out.Labels,
  keep: str,
) -> Choice:
  """Chooses the classifier to keep.

  Args:
    alone: The regressions of the labels alone.
    components: The principal components.
    estimate: The server's estimate.
    raw: float64 [labels, features], the labeled examples.
    labels: The labels, with the components of the examples.
    keep: `CHOSEN`, or one of `held_out.CANDIDATES`.
  """
  learned = server_steps.classifiers(estimate, labels.shares)
  logits = tf.concat(
    [
      (logistic_regression.with_ones(raw) @ alone.weights)[tf.newaxis],
      logistic_regression.with_ones(labels.x) @ learned,
    ],
    axis=0,
  )
  scores = held_out.score(logits, labels.targets)
  num_labels = tf.cast(tf.shape(raw)[0], tf.float64)
  has_examples = components.count >= held_out.LEAST_EXAMPLES * num_labels
  residual = tf.reduce_mean(labels.x, axis=0) - tf.linalg.matvec(
    estimate.mixture.means[0], labels.shares
  )
  server_spread = (
    mixture.measure_spread(residual, components.variances) - 1 / num_labels
  )
  if keep == CHOSEN:
    kept = held_out.choose(
      scores,
      held_out.can_choose(labels.targets)
      & has_examples
      & (estimate.passes > 0),
      held_out.images_differ(estimate.spread[0], server_spread),
    )
  else:
    kept = tf.constant(held_out.CANDIDATES.index(keep))
    kept = tf.where(estimate.passes > 0, kept, 0)
  all_labels = [alone.weights[0]] + [
    components_lib.to_raw(learned[i, 0], components)
    for i in range(len(held_out.CANDIDATES) - 1)
  ]
  temperature = tf.gather(scores.temperature, kept)
  return Choice(
    kept,
    tf.gather(tf.stack(all_labels), kept) / temperature,
    temperature,
    has_examples,
    server_spread,
    scores,
  )
