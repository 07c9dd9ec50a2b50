# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FedMatch with labels at the server, in its authors' version.

The authors' program divides the learning rate by three after 20 validations
without improvement. That is left out: it needs labeled images at the clients.

References:
  Jeong, Yoon, Yang, Hwang. Federated Semi-Supervised Learning with Inter-Client
  Consistency & Disjoint Learning. ICLR 2021. https://arxiv.org/abs/2006.12097
"""

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import federated_process
from tff_semifl.core import rounds
from tff_semifl.models import functional


def fedmatch_round(
  p: rounds.Parts,
  state: tff.Value,
  server_data: tff.Value,
  client_data: tff.Value,
  helpers: tff.Value,
) -> federated_process.RoundOutput:
  """A round of FedMatch, in which models of other clients help a client.

  The server trains sigma, then clients train phi, and the mean of the clients'
  phi is the new phi. Evaluation leaves out small values of phi. Round 0 has no
  clients, so that the server trains once more than in the authors' code.

  The memory of a client is phi of its helpers before a round, and a
  `ClientModel` after it. The program that runs the process chooses helpers
  (`helpers.Helpers`). Models travel from client to client, so that neither
  secure aggregation nor noise can hide them. Kernels of the model have two
  parts, as in `create_fedmatch_resnet`.
  """

  def apply(is_used, weights, update):
    return functional.ModelWeights(
      tuple(
        tf.where(is_used, weight - change, weight)
        for weight, change in zip(weights.trainable, update, strict=True)
      ),
      weights.non_trainable,
    )

  context = p.begin(state)
  # The optimizers of server and clients start afresh in each round.
  tuned = p.server(state, state.global_model_weights, context, server_data)
  received = rounds.broadcast(tuned.weights, context)
  trained = p.clients(received, client_data, helpers)
  mean = p.mean(state, trained)
  return p.finish(
    state,
    context,
    trained,
    {'server': tuned.measurements, 'aggregator': mean.measurements},
    global_model_weights=rounds.run(
      apply, mean.is_used, tuned.weights, mean.update
    ),
    aggregator=mean.state,
  )
