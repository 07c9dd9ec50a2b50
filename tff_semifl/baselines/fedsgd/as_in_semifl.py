# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD of FixMatch as SemiFL's authors ran it (SemiFL, Figure 2).

In `fedsgd_fixmatch` clients keep their images and send gradients. The authors'
program of the paper's time, deleted from their repository since, trained on the
images of a cohort as one batch: normalization is over all images of the batch,
all or none of them are trained on, and the loss is one mean. Clients would have
to hand over their images, so that this is a simulation of a curve and not a
method to use:

    each round is an epoch of the clients' images:
      until each image was in a step:
        S, U = a batch of the server, a batch of each client of a cohort
        loss = CE(S) + (CE(strong(U), labels) if any label is confident)
"""

import collections
from collections.abc import Sequence
import dataclasses
import math
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.baselines.fedsgd import gathered_images
from tff_semifl.baselines.fedsgd import union_training
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.core import server_work
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.systems import round_parts
from tff_semifl.systems import system
from tff_semifl.systems import training_settings
from tff_semifl.training import client_report
from tff_semifl.training import optimizers
from tff_semifl.training import training_loop


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedSGDAsInSemiFL(system.System):
  """The program of SemiFL's authors: a batch of several clients."""

  measures_pseudo_labels = True
  all_clients_take_part = True
  gathers_images = True

  rounds: training_settings.CosineSchedule = training_settings.CosineSchedule()
  client: training_settings.ClientBatches = training_settings.ClientBatches()
  server: training_settings.ServerBatches = training_settings.ServerBatches()
  confidence: training_settings.Confidence = training_settings.Confidence()
  optimizer: training_settings.ClippedNesterov = (
    training_settings.ClippedNesterov()
  )
  clients_per_step: int = settings.setting(
    10,
    'Clients of whose images a step is made, as long as so many have images'
    ' left in the epoch.',
    settings.AT_LEAST_1,
  )

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    return composition.build(
      composition.Parts(
        classifier=ingredients.classifier,
        seed=ingredients.seed,
        learning_rate_fn=self.rounds.create_learning_rate_fn(),
        server_work=build_union_work(
          union_training.UnionSteps(
            classifier=ingredients.classifier,
            weak_augmentation=ingredients.weak_augmentation,
            strong_augmentation=ingredients.strong_augmentation,
            optimizer=self.optimizer.build(),
            clients_per_step=self.clients_per_step,
            client_batch_size=self.client.client_batch_size,
            server_batch_size=self.server.filled_batch_size,
            confidence_threshold=self.confidence.confidence_threshold,
          )
        ),
        statistics=round_parts.build_batch_norm_statistics(ingredients),
      ),
      union_round,
      returns_given_labels=ingredients.returns_given_labels,
    )

  def check_num_clients(self, num_clients: int) -> None:
    if self.clients_per_step > num_clients:
      raise settings.SettingError(
        'clients_per_step',
        self.clients_per_step,
        f'there are {num_clients} clients; a step can have at most as many',
      )

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    """The fewest steps of a round, if every step is full."""
    del num_labeled  # Each step has a batch of them.
    batches = [
      math.ceil(size / self.client.client_batch_size) for size in client_sizes
    ]
    steps = max([math.ceil(sum(batches) / self.clients_per_step), *batches])
    return system.Steps(steps, max(batches))


def union_round(
  p: composition.Parts,
  state: tff.Value,
  server_data: tff.Value,
  client_data: tff.Value,
  *,
  returns_given_labels: bool,
) -> federated_process.RoundOutput:
  """A round that is one epoch of the clients' images.

  Clients hand over their images to the server, which takes the steps, all with
  one learning rate. Round 0 has no clients and no step.
  """
  image_shape = p.classifier.image_shape
  context = p.begin(state)
  gathered = gathered_images.build_gathering(image_shape)(client_data)
  trained = p.server(
    state, state.global_model_weights, context, server_data, gathered
  )
  metrics = trained.measurements
  given_labels = ()
  if returns_given_labels:
    given_labels = composition.run(
      gathered_images.select_own,
      tff.federated_broadcast(metrics.given_labels),
      tff.federated_broadcast(gathered.client_id),
      tff.federated_broadcast(gathered.num_images),
      client_data,
    )
  return p.finish(
    state,
    context,
    None,
    {
      'client': metrics.client,
      'server': metrics.server,
      'aggregator': tff.federated_value((), tff.SERVER),
    },
    global_model_weights=p.with_statistics(trained.weights, server_data),
    server_work=trained.state,
  )._replace(given_labels=given_labels)


def build_union_work(
  steps: union_training.UnionSteps,
) -> server_work.ServerWork:
  """Builds the work of a server to which clients hand over their images.

  The last argument of `train` are the images, `ClientImages`; measurements are
  `client`, `server` and `given_labels`, the pseudo-labels of all images. There
  are no updates, so that weight diversity is not measured.
  """
  classifier, optimizer = steps.classifier, steps.optimizer

  def train(
    state: Any,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
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
      (labeled['image'], labeled['label']),
      gathered,
    )
    training, server = result.training, result.server
    metrics = collections.OrderedDict(
      client=_summarize_clients(result, gathered.num_images),
      server=collections.OrderedDict(
        loss=server.loss / server.num_examples,
        accuracy=server.num_correct / server.num_examples,
      ),
      given_labels=training.state,
    )
    weights = functional.ModelWeights(training.trainable, weights.non_trainable)
    return training.optimizer_state, weights, metrics

  return server_work.ServerWork(
    initialize=lambda: training_loop.initial_optimizer_state(
      optimizer, classifier.initial_weights.trainable
    ),
    train=train,
  )


def _summarize_clients(
  result: union_training.EpochResult, num_images: tf.Tensor
) -> collections.OrderedDict[str, tf.Tensor]:
  """The metrics of clients, from their numbers of images."""
  sums = result.training.sums
  return client_report.summarize(
    client_report.ClientSums(
      collections.OrderedDict(
        loss=client_report.Ratio(sums.loss, sums.num_examples),
        accuracy=client_report.Ratio(sums.num_correct, sums.num_examples),
        label_ratio=client_report.Ratio(result.num_confident, sums.num_visited),
        num_participating=tf.math.count_nonzero(num_images, dtype=tf.float32),
        num_rejected=tf.constant(0.0),
      ),
      updates=client_report.update_sums((), None),
    )
  )
