# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The metrics of a round of client priors."""

import collections
from collections.abc import Mapping

import tensorflow as tf

from tff_semifl.methods.client_priors import choice
from tff_semifl.methods.client_priors import client_sums
from tff_semifl.methods.client_priors import held_out
from tff_semifl.methods.client_priors import state
from tff_semifl.training import weight_diversity


def summarize(
  measured: client_sums.Measurements,
  num_clients: tf.Tensor,
  estimate: state.Estimate,
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
  averages = estimate.averages

  def of_first(values: tf.Tensor) -> tf.Tensor:
    return tf.where(measured.count > 0, tf.cast(values[0], tf.float32), nothing)

  # Before the first step only the labels alone are there.
  is_there = (tf.range(len(held_out.CANDIDATES)) < 1) | (estimate.passes > 0)
  num_right, likelihood = (
    tf.where(is_there, tf.cast(each, tf.float32), nothing)
    for each in (chosen.scores.num_right, chosen.scores.likelihood)
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
    evidence=of_first(averages.evidence),
    strength=tf.cast(estimate.strength[0], tf.float32),
    spread=tf.cast(estimate.spread[0], tf.float32),
    server_spread=tf.cast(chosen.server_spread, tf.float32),
    objective=of_first(averages.objective),
    kept=tf.cast(chosen.kept, tf.float32),
    temperature=tf.cast(chosen.temperature, tf.float32),
    has_examples=tf.cast(chosen.has_examples, tf.float32),
    held_out=tf.cast(chosen.scores.num_held_out, tf.float32),
    **{
      f'right_{name}': num_right[i]
      for i, name in enumerate(held_out.CANDIDATES)
    },
    **{
      f'likelihood_{name}': likelihood[i]
      for i, name in enumerate(held_out.CANDIDATES)
    },
  )
  server = collections.OrderedDict(loss=nothing, accuracy=nothing)
  return client, server, nothing
