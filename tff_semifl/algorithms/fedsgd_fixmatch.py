# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD of FixMatch: the extra curve of SemiFL's Figure 2 (D.4)."""

import collections
import dataclasses
from typing import Any

import tensorflow_federated as tff

from tff_semifl.algorithms import federated_process
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.algorithms import round_process
from tff_semifl.algorithms import training_parts
from tff_semifl.augment import augmentation
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.work import gradient_work
from tff_semifl.work import round_context


def build_fedsgd_fixmatch(
  classifier: functional.ImageClassifier,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
  aggregator: tff.aggregators.AggregationFactory | None = None,
) -> federated_process.FederatedProcess:
  """Builds it: a round is one step, on batches of the server and of clients.

  The step's gradient is that of the server's batch, and the uniform mean of
  those of the clients; it is the gradient of FixMatch's loss on what all of
  them drew. Clients visit each of their images once an epoch of their own, and
  know how often they took part: client data are of
  `pipelines.client_with_turn_type`. There is no global momentum.

  Args:
    classifier: The model.
    hyperparameters: The numbers; those of epochs are of no use.
    weak_augmentation: For the server's images and for pseudo-labels.
    strong_augmentation: For the clients' loss.
    aggregator: By default the uniform mean of the clients that have images.
  """
  parts = training_parts.build_training_parts(
    classifier,
    gradient_work.build_gradient_training(
      classifier,
      weak_augmentation=weak_augmentation,
      strong_augmentation=strong_augmentation,
      batch_size=hyperparameters.client_batch_size,
      confidence_threshold=hyperparameters.confidence_threshold,
    ),
    dataclasses.replace(hyperparameters, keep_client_momentum=False),
    weak_augmentation=weak_augmentation,
    aggregator=aggregator,
    client_data_type=pipelines.client_with_turn_type(classifier.image_shape),
  )
  parts = dataclasses.replace(
    parts,
    server_work=gradient_work.build_gradient_server_work(
      classifier,
      weak_augmentation=weak_augmentation,
      optimizer=hyperparameters.optimizer,
      batch_size=hyperparameters.server_batch_size,
    ),
  )
  return _compose_gradient_process(parts)


def _compose_gradient_process(
  parts: round_process.RoundParts,
) -> federated_process.FederatedProcess:
  """Composes a process in which the server steps on the clients' aggregate."""
  update_type = parts.weights_type.trainable
  begin_round = round_context.build_beginning(parts.learning_rate_fn)
  choose = parts.build_choice(
    tff.types.to_type(
      (parts.aggregator.initialize.type_signature.result.member, update_type)
    )
  )
  state_type = parts.server_work.initialize.type_signature.result.member

  @tff.tensorflow.computation(state_type, update_type)
  def put_gradient(state: Any, gradient: Any):
    optimizer_state, _ = state
    return optimizer_state, gradient

  @tff.tensorflow.computation(state_type)
  def no_gradient(state: Any):
    _, gradient = state
    return tuple(0.0 * array for array in gradient)

  def run_round(state, server_data, client_data, *memories):
    context, next_round_num = tff.federated_map(
      begin_round, (state.seed, state.round_num)
    )
    # Clients compute gradients of the model that they receive,
    sent = parts.distributor.next(state.distributor, state.global_model_weights)
    received = tff.federated_zip(
      (sent.result, tff.federated_broadcast(parts.tell(state, context)))
    )
    trained = parts.client_work.next(
      state.client_work, received, client_data, *memories
    )
    # whose mean is zero if nobody has any,
    aggregated = parts.aggregate(state.aggregator, trained.result)
    aggregator, gradient = tff.federated_map(
      choose,
      (
        state.round_num,
        parts.num_counting(trained.result),
        (aggregated.state, aggregated.result),
        (
          state.aggregator,
          tff.federated_map(no_gradient, state.server_work),
        ),
      ),
    )
    # and the server takes a step along the sum of it and of its own.
    stepped = parts.server_work.next(
      tff.federated_map(put_gradient, (state.server_work, gradient)),
      state.global_model_weights,
      context,
      server_data,
    )
    weights = parts.with_statistics(stepped.result, server_data)
    return federated_process.RoundOutput(
      state=tff.federated_zip(
        round_process.RoundState(
          global_model_weights=weights,
          distributor=sent.state,
          client_work=trained.state,
          aggregator=aggregator,
          finalizer=state.finalizer,
          server_work=stepped.state,
          round_num=next_round_num,
          seed=state.seed,
          guidance=parts.update_guidance(
            state, context, weights, trained.result
          ),
        )
      ),
      metrics=tff.federated_zip(
        collections.OrderedDict(
          client=trained.measurements,
          server=stepped.measurements,
          aggregator=aggregated.measurements,
          learning_rate=context.learning_rate,
        )
      ),
      memories=trained.result.memory,
      given_labels=trained.result.given_labels,
    )

  return round_process.build_process(parts, run_round)
