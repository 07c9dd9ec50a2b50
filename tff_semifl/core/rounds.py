# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Rounds in which server and clients train in parallel, or send gradients."""

from collections.abc import Callable

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.privacy import aggregators


def parallel_round(
  p: composition.Parts,
  state: tff.Value,
  server_data: tff.Value,
  client_data: tff.Value,
  memories: tff.Value | None = None,
  *,
  server_share_fn: Callable[[tf.Tensor], tf.Tensor],
  step_from_received_weights: bool,
) -> federated_process.RoundOutput:
  """Server and clients train the same weights, and the results are averaged.

  All start from weights W. The server returns W_s, client m of n returns W_m:

      s = server_share_fn(n)
      average = s * W_s + (1 - s) * mean of W_m
      base = W if step_from_received_weights else W_s
      new weights = finalizer(base, base - average)

  If no client has an update, and in round 0, the average is W_s. With base W,
  momentum accumulates steps of the average. With base W_s, as in the code of
  SemiFL's authors, momentum accumulates differences of server and clients.
  """

  def average(is_used, number, received, tuned, update):
    share = tf.where(is_used, server_share_fn(number), 1.0)
    base = received if step_from_received_weights else tuned
    # Without clients, the clients' update may not be finite.
    return base, tuple(
      b - share * t - tf.where(share < 1.0, (1.0 - share) * (w - u), 0.0)
      for b, w, t, u in zip(
        base.trainable, received.trainable, tuned.trainable, update, strict=True
      )
    )

  context = p.begin(state)
  received = p.send(state, context, server_data)
  trained = p.clients(received, client_data, memories)
  mean = p.mean(state, trained)
  tuned = p.server(state, state.global_model_weights, context, server_data)
  base, update = composition.run(
    average,
    mean.is_used,
    mean.num_contributing,
    state.global_model_weights,
    tuned.weights,
    mean.update,
  )
  finalized = p.finalizer.next(state.finalizer, base, update)
  weights = p.update(state, context, trained, finalized.result, server_data)
  return p.finish(
    state,
    context,
    trained,
    server_data,
    {'server': tuned.measurements, 'aggregator': mean.measurements},
    global_model_weights=p.with_statistics(weights, server_data),
    aggregator=mean.state,
    finalizer=finalized.state,
    server_work=tuned.state,
  )


def half(num_clients: tf.Tensor) -> tf.Tensor:
  """The server's weight 1/2, as in the code of SemiFL's authors."""
  return 0.5 * tf.ones_like(num_clients)


def one_of_all(num_clients: tf.Tensor) -> tf.Tensor:
  """The server's weight 1 / (n + 1), like a client's, as in SemiFL's paper."""
  return 1.0 / (num_clients + 1.0)


def of_two_groups(num_clients: tf.Tensor) -> tf.Tensor:
  """The server's weight if two groups of clients both include the server.

  The new model is the mean of the two groups' means, as for FedRGD in the code
  of SemiFL's authors. With an odd number of clients, clients have their mean
  weight over random groups; the weights of the authors do not sum to 1.
  """
  smaller = tf.math.floor(num_clients / 2.0)
  return (1.0 / (smaller + 1.0) + 1.0 / (num_clients - smaller + 1.0)) / 2.0


def gradient_round(
  p: composition.Parts,
  state: tff.Value,
  server_data: tff.Value,
  client_data: tff.Value,
  memories: tff.Value | None = None,
) -> federated_process.RoundOutput:
  """A round of federated SGD: one step of the global model.

  The step uses the sum of the gradient of the server's batch and the mean of
  the clients' gradients. The finalizer is not used.
  """
  context = p.begin(state)
  received = p.send(state, context, server_data)
  trained = p.clients(received, client_data, memories)
  mean = p.mean(state, trained)
  gradient = composition.run(aggregators.zero_unless, mean.is_used, mean.update)
  stepped = p.server(
    state, state.global_model_weights, context, server_data, gradient
  )
  return p.finish(
    state,
    context,
    trained,
    server_data,
    {'server': stepped.measurements, 'aggregator': mean.measurements},
    global_model_weights=p.with_statistics(stepped.weights, server_data),
    aggregator=mean.state,
    server_work=stepped.state,
  )
