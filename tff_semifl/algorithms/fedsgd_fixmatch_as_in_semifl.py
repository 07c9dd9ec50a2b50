# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD of FixMatch as SemiFL's authors ran it (Figure 2, D55).

In `fedsgd_fixmatch` clients keep their images and send gradients. The authors'
program of the paper's time, which their repository no longer has, trained on
the images of a cohort as one batch instead. This module reproduces it, so that
results can be compared with the authors' curve.
"""

import collections
from collections.abc import Callable

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import optimizers
from tff_semifl.algorithms import federated_process
from tff_semifl.algorithms import round_process
from tff_semifl.augment import augmentation
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.work import batch_norm_statistics
from tff_semifl.work import client_report
from tff_semifl.work import gathered_images
from tff_semifl.work import given_labels as given_labels_lib
from tff_semifl.work import round_context
from tff_semifl.work import training_loop
from tff_semifl.work import union_training
from tff_semifl.work import weight_diversity


def build_fedsgd_fixmatch_as_in_semifl(
  classifier: functional.ImageClassifier,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
  optimizer: tff.learning.optimizers.Optimizer,
  learning_rate_fn: Callable[[tf.Tensor], tf.Tensor],
  clients_per_step: int,
  client_batch_size: int,
  server_batch_size: int,
  confidence_threshold: float,
  seed: int,
  computes_statistics: bool = True,
  returns_given_labels: bool = False,
) -> federated_process.FederatedProcess:
  """Builds a process in which a round is one epoch of the clients' images.

  All clients take part in a round, each in as many of its steps as it has
  batches; all steps of a round have the same learning rate. The images are
  gathered at the server, which takes the steps (`union_training.train_epoch`).
  This simulates the computation; it does not keep images private. Round 0 has
  no clients, and so no step.

  Args:
    classifier: The model.
    weak_augmentation: Augmentation of the server's images, and of the clients'
      images for pseudo-labels.
    strong_augmentation: Augmentation of the clients' images for their loss.
    optimizer: The optimizer of the steps. Its state, such as momentum, is kept
      from round to round.
    learning_rate_fn: Round -> learning rate.
    clients_per_step: Number of clients in a step; fewer once fewer have images
      left.
    client_batch_size: Images of each client in a step.
    server_batch_size: Labeled images in a step.
    confidence_threshold: tau, in (0, 1].
    seed: The run's seed.
    computes_statistics: Whether a round ends by computing batch normalization
      statistics over the server's images.
    returns_given_labels: Whether a round returns the clients' pseudo-labels.

  Returns:
    A process with the types and metrics of `round_process.build_process`.
    Clients have no updates, so that weight diversity is not measured.

  Raises:
    ValueError: If `clients_per_step` is not positive.
  """
  if clients_per_step < 1:
    raise ValueError(
      f'`clients_per_step` must be positive, found {clients_per_step}.'
    )
  weights_type = classifier.weights_type
  server_data_type = pipelines.labeled_type(classifier.image_shape)
  gather = gathered_images.build_gathering(classifier.image_shape)
  statistics = None
  if classifier.batch_moments is not None and computes_statistics:
    statistics = batch_norm_statistics.build_server_batch_norm_statistics(
      classifier
    )

  @tff.tensorflow.computation
  def initial_values():
    weights = tf.nest.map_structure(tf.constant, classifier.initial_weights)
    return (
      weights,
      training_loop.initial_optimizer_state(optimizer, weights.trainable),
      tf.constant(0, tf.int32),
      tf.constant(seed, tf.int32),
    )

  @tff.federated_computation
  def initialize_fn():
    weights, optimizer_state, round_num, seed = tff.federated_eval(
      initial_values, tff.SERVER
    )
    nothing = tff.federated_value((), tff.SERVER)
    return tff.federated_zip(
      round_process.RoundState(
        global_model_weights=weights,
        distributor=nothing,
        client_work=nothing,
        aggregator=nothing,
        finalizer=nothing,
        server_work=optimizer_state,
        round_num=round_num,
        seed=seed,
        guidance=nothing,
      )
    )

  state_type = initialize_fn.type_signature.result

  @tff.tensorflow.computation(
    state_type.member, server_data_type, gather.type_signature.result.member
  )
  def train(
    state: round_process.RoundState,
    server_data: tf.data.Dataset,
    gathered: gathered_images.ClientImages,
  ):
    learning_rate = learning_rate_fn(state.round_num)
    weights = state.global_model_weights
    labeled = pipelines.concatenate_chunks(server_data)
    result = union_training.train_epoch(
      classifier,
      weights,
      optimizer.set_hparams(
        state.server_work, {optimizers.LEARNING_RATE_KEY: learning_rate}
      ),
      round_context.RoundContext(state.seed, state.round_num, learning_rate),
      union_training.LabeledImages(labeled['image'], labeled['label']),
      gathered,
      weak_augmentation=weak_augmentation,
      strong_augmentation=strong_augmentation,
      optimizer=optimizer,
      clients_per_step=clients_per_step,
      client_batch_size=client_batch_size,
      server_batch_size=server_batch_size,
      confidence_threshold=confidence_threshold,
      given_labels=given_labels_lib.none()
      if returns_given_labels
      else given_labels_lib.NOT_KEPT,
    )
    new_state = state._replace(
      global_model_weights=functional.ModelWeights(
        result.trainable, weights.non_trainable
      ),
      server_work=result.optimizer_state,
      round_num=state.round_num + 1,
    )
    server, clients = result.server, result.clients
    server_metrics = collections.OrderedDict(
      loss=server.loss / server.num_examples,
      accuracy=server.num_correct / server.num_examples,
    )
    client_metrics = client_report.summarize(
      client_report.ClientSums(
        collections.OrderedDict(
          loss=client_report.Ratio(clients.loss, clients.num_examples),
          accuracy=client_report.Ratio(
            clients.num_correct, clients.num_examples
          ),
          label_ratio=client_report.Ratio(
            result.num_confident, result.num_labeled
          ),
          num_participating=tf.math.count_nonzero(
            gathered.num_images, dtype=tf.float32
          ),
          num_rejected=tf.constant(0.0),
        ),
        # Clients have no updates.
        updates=weight_diversity.update_sums((), None),
      )
    )
    return (
      new_state,
      server_metrics,
      client_metrics,
      learning_rate,
      result.given_labels,
    )

  @tff.tensorflow.computation(state_type.member, weights_type)
  def put_weights(state: round_process.RoundState, weights):
    return state._replace(global_model_weights=weights)

  select_own = gathered_images.build_selection_of_own_labels(
    classifier.image_shape
  )

  def run_round(state, server_data, client_data):
    gathered = gather(client_data)
    state, server_metrics, client_metrics, learning_rate, given = (
      tff.federated_map(train, (state, server_data, gathered))
    )
    if statistics is not None:
      state = tff.federated_map(
        put_weights,
        (state, statistics(state.global_model_weights, server_data)),
      )
    given_labels = given_labels_lib.NOT_KEPT
    if returns_given_labels:
      given_labels = tff.federated_map(
        select_own,
        (
          tff.federated_broadcast(given),
          tff.federated_broadcast(gathered.client_id),
          tff.federated_broadcast(gathered.num_images),
          client_data,
        ),
      )
    return federated_process.RoundOutput(
      state=state,
      metrics=tff.federated_zip(
        collections.OrderedDict(
          client=client_metrics,
          server=server_metrics,
          aggregator=tff.federated_value((), tff.SERVER),
          learning_rate=learning_rate,
        )
      ),
      given_labels=given_labels,
    )

  return federated_process.build_federated_process(
    initialize_fn,
    run_round,
    server_data_type=tff.FederatedType(server_data_type, tff.SERVER),
    client_data_type=gather.type_signature.parameter,
  )
