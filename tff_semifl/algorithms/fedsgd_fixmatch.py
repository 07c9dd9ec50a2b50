# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD of FixMatch: the extra curve of SemiFL's Figure 2 (D.4)."""

import dataclasses
from typing import Any

import tensorflow_federated as tff

from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.algorithms import round_process
from tff_semifl.algorithms import training_parts
from tff_semifl.augment import augmentation
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.work import gradient_work


def build_fedsgd_fixmatch(
  classifier: functional.ImageClassifier,
  hyperparameters: hyperparameters_lib.Hyperparameters,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
  aggregator: tff.aggregators.AggregationFactory | None = None,
) -> tff.templates.IterativeProcess:
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
) -> tff.templates.IterativeProcess:
  """Composes a process in which the server steps on the clients' aggregate."""
  update_type = parts.weights_type.trainable
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

  def join(state, context, server_data, trained) -> round_process.JoinedRound:
    aggregated = parts.aggregate(state.aggregator, trained)
    aggregator_state, gradient = tff.federated_map(
      choose,
      (
        state.round_num,
        parts.num_counting(trained),
        (aggregated.state, aggregated.result),
        (
          state.aggregator,
          tff.federated_map(no_gradient, state.server_work),
        ),
      ),
    )
    stepped = parts.server_work.next(
      tff.federated_map(put_gradient, (state.server_work, gradient)),
      state.global_model_weights,
      context,
      server_data,
    )
    return round_process.JoinedRound(
      weights=stepped.result,
      aggregator=aggregator_state,
      finalizer=state.finalizer,
      server_work=stepped.state,
      server_metrics=stepped.measurements,
      aggregator_metrics=aggregated.measurements,
    )

  return round_process.compose_process(parts, join)
