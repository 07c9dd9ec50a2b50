# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The metrics of a round of client priors."""

import collections
from collections.abc import Mapping

import tensorflow as tf

from tff_semifl.methods.client_priors import client_sums
from tff_semifl.methods.client_priors import server_steps
from tff_semifl.training import weight_diversity


def summarize(
  measured: client_sums.Measurements,
  evidence: tf.Tensor,
  num_clients: tf.Tensor,
  estimate: server_steps.Estimate,
) -> tuple[Mapping[str, tf.Tensor], Mapping[str, tf.Tensor], tf.Tensor]:
  """The metrics of clients and server, and the learning rate.

  Args:
    measured: The sums of all clients of the round.
    evidence: float scalar, the mean of `class_shares.evidence` over examples.
    num_clients: float32 scalar, how many took part.
    estimate: The server's state after the round.
  """
  nothing = tf.constant(float('nan'))
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
    evidence=tf.where(measured.count > 0, evidence, nothing),
    strength=tf.cast(estimate.strength, tf.float32),
  )
  server = collections.OrderedDict(loss=nothing, accuracy=nothing)
  return client, server, nothing
