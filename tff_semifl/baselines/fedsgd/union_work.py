# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A TFF process of steps on clients' images in one place."""

import collections
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.baselines.fedsgd import gathered_images
from tff_semifl.baselines.fedsgd import union_training
from tff_semifl.core import round_context
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.training import client_report
from tff_semifl.training import given_labels as given_labels_lib
from tff_semifl.training import optimizers
from tff_semifl.training import training_loop
from tff_semifl.training import weight_diversity


class UnionResult(NamedTuple):
  """The result of the steps of a round.

  Attributes:
    weights: The trained model weights, at SERVER.
    given_labels: The pseudo-labels of each client's images, at CLIENTS; the
      empty structure if they are not kept.
  """

  weights: Any
  given_labels: Any


def build_union_work(
  steps: union_training.UnionSteps, *, returns_given_labels: bool
) -> tff.templates.MeasuredProcess:
  """Builds the work of a server to which clients hand over their images.

  Returns:
    A process with S for the optimizer's state, W for model weights, R for
    `RoundContext`, L for chunks of labeled images, U for chunks of a client's
    images and M for metrics:

        initialize: ( -> S@SERVER)
        next: (<S@SERVER, W@SERVER, R@SERVER, L*@SERVER, {U*}@CLIENTS>
               -> <state=S@SERVER,
                   result=<weights=W@SERVER,
                           given_labels={GivenLabels or <>}@CLIENTS>,
                   measurements=<client=M, server=M>@SERVER>)

    There are no updates, so that weight diversity is not measured.
  """
  classifier, optimizer = steps.classifier, steps.optimizer
  gather = gathered_images.build_gathering(classifier.image_shape)
  select_own = gathered_images.build_selection_of_own_labels(
    classifier.image_shape
  )

  @tff.tensorflow.computation
  def initial_state():
    return training_loop.initial_optimizer_state(
      optimizer, classifier.initial_weights.trainable
    )

  @tff.federated_computation
  def initialize_fn():
    return tff.federated_eval(initial_state, tff.SERVER)

  types = (
    initial_state.type_signature.result,
    classifier.weights_type,
    round_context.ROUND_CONTEXT_TYPE,
    pipelines.labeled_type(classifier.image_shape),
  )

  @tff.tensorflow.computation(*types, gather.type_signature.result.member)
  def train(
    state: Any,
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    server_data: tf.data.Dataset,
    gathered: gathered_images.ClientImages,
  ):
    labeled = pipelines.concatenate_chunks(server_data)
    result = union_training.train_epoch(
      steps,
      weights,
      optimizer.set_hparams(
        state, {optimizers.LEARNING_RATE_KEY: context.learning_rate}
      ),
      context,
      union_training.LabeledImages(labeled['image'], labeled['label']),
      gathered,
      given_labels_lib.none()
      if returns_given_labels
      else given_labels_lib.NOT_KEPT,
    )
    metrics = collections.OrderedDict(
      client=_summarize_clients(result, gathered.num_images),
      server=collections.OrderedDict(
        loss=result.server.loss / result.server.num_examples,
        accuracy=result.server.num_correct / result.server.num_examples,
      ),
    )
    weights = functional.ModelWeights(result.trainable, weights.non_trainable)
    return result.optimizer_state, weights, metrics, result.given_labels

  @tff.federated_computation(
    *(tff.FederatedType(part, tff.SERVER) for part in types),
    gather.type_signature.parameter,
  )
  def next_fn(state, weights, context, server_data, client_data):
    gathered = gather(client_data)
    state, weights, metrics, given = tff.federated_map(
      train, (state, weights, context, server_data, gathered)
    )
    given_labels = tff.federated_value((), tff.CLIENTS)
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
    return tff.templates.MeasuredProcessOutput(
      state, UnionResult(weights, given_labels), metrics
    )

  return tff.templates.MeasuredProcess(initialize_fn, next_fn)


def _summarize_clients(
  result: union_training.EpochResult, num_images: tf.Tensor
) -> collections.OrderedDict[str, tf.Tensor]:
  """The metrics of clients, from their numbers of images."""
  clients = result.clients
  return client_report.summarize(
    client_report.ClientSums(
      collections.OrderedDict(
        loss=client_report.Ratio(clients.loss, clients.num_examples),
        accuracy=client_report.Ratio(clients.num_correct, clients.num_examples),
        label_ratio=client_report.Ratio(
          result.num_confident, result.num_labeled
        ),
        num_participating=tf.math.count_nonzero(num_images, dtype=tf.float32),
        num_rejected=tf.constant(0.0),
      ),
      updates=weight_diversity.update_sums((), None),
    )
  )
