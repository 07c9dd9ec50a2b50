# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The metrics of a round of client priors."""

import collections
from collections.abc import Mapping

import tensorflow as tf

from tff_semifl.methods.client_priors import choice
from tff_semifl.methods.client_priors import client_sums
from tff_semifl.methods.client_priors import held_out
from tff_semifl.methods.client_priors import server_steps
from tff_semifl.training import weight_diversity


def summarize(
  measured: client_sums.Measurements,
  num_clients: tf.Tensor,
  estimate: server_steps.Estimate,
  chosen: choice.Choice,
) -> tuple[Mapping[str, tf.Tensor], Mapping[str, tf.Tensor], tf.Tensor]:
  """The metrics of clients and server, and the learning rate.

  Args:
    measured: The sums of all clients of the round.
    num_clients: float32 scalar, how many took part.
    estimate: The server's state after the round.
    chosen: The choice after it.
  """
  nothing = tf.constant(float('nan'))
  shown = choice.learner_of(chosen.kept)
  averages = estimate.averages

  def of_shown(values: tf.Tensor) -> tf.Tensor:
    return tf.where(
      measured.count > 0, tf.cast(tf.gather(values, shown), tf.float32), nothing
    )

  scores = tf.nest.map_structure(
    lambda each: tf.cast(each, tf.float32), chosen.scores
  )
  client = collections.OrderedDict(
    loss=measured.loss / measured.count,
    accuracy=measured.num_agreed / measured.count,
    label_ratio=measured.count / measured.count,
    num_participating=num_clients - measured.num_rejected,
    num_rejected=measured.num_rejected,
    **weight_diversity.measure(
      weight_diversity.update_sums((), None), num_clients
    ),
    # How much likelier own class shares make an example, and how clients
    # differ: small strength, different clients.
    evidence=of_shown(averages.evidence),
    strength=tf.cast(tf.gather(estimate.strength, shown), tf.float32),
    spread=tf.cast(estimate.spread[0], tf.float32),
    objective=of_shown(averages.objective),
    kept=tf.cast(chosen.kept, tf.float32),
    temperature=tf.cast(chosen.temperature, tf.float32),
    has_examples=tf.cast(chosen.has_examples, tf.float32),
    held_out=scores.num_held_out,
    **{
      f'right_{name}': scores.num_right[i]
      for i, name in enumerate(held_out.CANDIDATES)
    },
    **{
      f'likelihood_{name}': scores.likelihood[i]
      for i, name in enumerate(held_out.CANDIDATES)
    },
  )
  server = collections.OrderedDict(loss=nothing, accuracy=nothing)
  return client, server, nothing
