# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Parallel averaging: server and clients train the same weights.

SemiFL's paper compares its alternate training with it (Table 2): the server's
model is one more member of the average, and the average is not fine-tuned.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import federated_process
from tff_semifl.core import round_process

# Number of clients that count -> weight of the server in the average, float32
# scalars. The clients share the rest equally.
ServerShareFn = Callable[[tf.Tensor], tf.Tensor]


def half(num_clients: tf.Tensor) -> tf.Tensor:
  """1/2: the weight of the server in the code of SemiFL's authors."""
  return 0.5 * tf.ones_like(num_clients)


def one_of_all(num_clients: tf.Tensor) -> tf.Tensor:
  """1/(n+1): the server weighs as much as a client, as in SemiFL's paper."""
  return 1.0 / (num_clients + 1.0)


def of_two_groups(num_clients: tf.Tensor) -> tf.Tensor:
  """The weight of a server that is a member of two groups of clients.

  Each group is averaged, and then the two averages, as FedRGD in the code of
  SemiFL's authors. For an odd number of clients this is the expected weight if
  the smaller group is random; the weights of the authors' code do not add up
  to 1 there.
  """
  smaller = tf.math.floor(num_clients / 2.0)
  return (1.0 / (smaller + 1.0) + 1.0 / (num_clients - smaller + 1.0)) / 2.0


def compose_parallel_process(
  parts: round_process.RoundParts,
  *,
  server_share_fn: ServerShareFn,
  step_from_received_weights: bool,
) -> federated_process.FederatedProcess:
  """Composes a process in which the server is averaged with the clients.

                   ┌─> client_work ─> aggregator ─┐
      weights ─────┤                              ├─> average ─> finalizer
                   └─> server_work ───────────────┘                  │
                            ^                                        v
                       server_data ─────────> batch_norm_statistics ─> weights

  With W for the received weights, W_s for those that the server trained, W_m
  for those that each of n clients trained, and s for the server's share:

      average = s * W_s + (1 - s) * mean of W_m
      base = W_s or W
      new weights = finalizer(base, base - average)

  If no client counts, the average is W_s. In round 0 the server trains alone.

  Args:
    parts: The components of the process.
    server_share_fn: n -> s.
    step_from_received_weights: Whether base is W, so that the momentum is that
      of the average. If not, base is W_s, as in the code of SemiFL's authors:
      the momentum is that of the difference between server and clients.
  """
  weights_type = parts.weights_type
  choose = parts.build_choice(
    parts.aggregator.initialize.type_signature.result.member
  )

  @tff.tensorflow.computation(
    np.int32, np.float32, weights_type, weights_type, weights_type.trainable
  )
  def average(
    round_num: tf.Tensor,
    num_counting: tf.Tensor,
    received: Any,
    tuned: Any,
    update: Any,
  ):
    share = tf.where(
      parts.counts(round_num, num_counting),
      server_share_fn(num_counting),
      1.0,
    )
    base = received if step_from_received_weights else tuned
    # Without a client, the clients' update need not be finite.
    return base, tuple(
      b - share * t - tf.where(share < 1.0, (1.0 - share) * (w - u), 0.0)
      for b, w, t, u in zip(
        base.trainable,
        received.trainable,
        tuned.trainable,
        update,
        strict=True,
      )
    )

  def combine(state, context, server_data, aggregated, num_counting):
    received = state.global_model_weights
    tuned = parts.server_work.next(
      state.server_work, received, context, server_data
    )
    base, update = tff.federated_map(
      average,
      (
        state.round_num,
        num_counting,
        received,
        tuned.result,
        aggregated.result,
      ),
    )
    finalized = parts.finalizer.next(state.finalizer, base, update)
    # If no client counts, the aggregator's state does not change.
    aggregator = tff.federated_map(
      choose,
      (state.round_num, num_counting, aggregated.state, state.aggregator),
    )
    return round_process.ServerResult(
      finalized.result, aggregator, finalized.state, tuned
    )

  return round_process.build_process(parts, combine)
