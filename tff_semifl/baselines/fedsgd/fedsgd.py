# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD of FixMatch: clients send gradients of one batch.

    each round, with the server's and each client's next batch:
      server: gradient of CE(weak(labeled batch))
      client: labels = confident predictions for weak(batch)
              gradient of CE(strong(batch), labels) / batch size
      weights = step(server's gradient + mean of clients' gradient_steps)

A comparison for systems with several local steps: federated SGD communicates
after each step. `--preset=fedsgd_fixmatch/cifar10_4000_iid` is from Figure 2 of
SemiFL. `FedSGDAsInSemiFL` reproduces the program of SemiFL's authors.
"""

from collections.abc import Mapping, Sequence
import dataclasses
import math
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.algorithms import gradient_steps
from tff_semifl.algorithms import round_parts
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.baselines.fedsgd import union_images
from tff_semifl.baselines.fedsgd import union_work
from tff_semifl.core import client_work
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.core import pseudo_labels
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedSGD(gradient_steps.GradientSteps):
  """Federated SGD: a round is one step, on the mean of clients' gradients."""

  confidence: training_settings.Confidence = training_settings.Confidence()

  def train_client(
    self,
    ingredients: system.Ingredients,
    weights: functional.ModelWeights,
    context: federated_process.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
  ) -> client_work.LocalTraining:
    """The gradient of FixMatch on one batch.

    The loss is the sum of cross-entropies of strongly augmented images whose
    pseudo-label is confident, divided by the number of images in the batch.
    """
    classifier, purpose = ingredients.classifier, random_seeds.Purpose
    node = federated_process.Node(context, data['client_id'])
    indices = self.select_batch(node, data)
    images = tf.gather(data['image'], indices)
    weak = ingredients.weak_augmentation(images, node.seed(purpose.WEAK_VIEW))
    labels = pseudo_labels.from_logits(
      classifier.batch_logits(weights, tf.cast(weak, tf.float32))
    )
    is_kept = pseudo_labels.is_confident(
      labels, self.confidence.confidence_threshold
    )
    strong = ingredients.strong_augmentation(
      images, node.seed(purpose.STRONG_VIEW)
    )
    return gradient_steps.report(
      classifier,
      weights,
      tf.boolean_mask(strong, is_kept),
      tf.boolean_mask(labels.labels, is_kept),
      num_images=tf.shape(indices)[0],
      node=node,
      optimizer_state=optimizer_state,
      given_labels=pseudo_labels.give_at_once(indices, labels.labels, is_kept),
    )

  def build_server_work(
    self, ingredients: system.Ingredients
  ) -> gradient_steps.GradientServerWork:
    return gradient_steps.GradientServerWork(
      classifier=ingredients.classifier,
      augmentation_fn=ingredients.weak_augmentation,
      optimizer=self.optimizer.build(),
      batch_size=self.server.filled_batch_size,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedSGDAsInSemiFL(system.System):
  """The program of SemiFL's authors: a batch of several clients.

  The program made Figure 2, and is no longer in the authors' repository.
  Clients would have to hand over their images, so this system only reproduces a
  curve, and is not a method to use.
  """

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
        server_work=union_work.UnionWork(
          ingredients=ingredients,
          optimizer=self.optimizer.build(),
          clients_per_step=self.clients_per_step,
          client_batch_size=self.client.client_batch_size,
          server_batch_size=self.server.filled_batch_size,
          confidence_threshold=self.confidence.confidence_threshold,
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
    del num_labeled  # Each step has a batch of labeled images.
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

  Clients hand over their images to the server, which takes all steps with one
  learning rate. Round 0 has no clients and no steps.
  """
  image_shape = p.classifier.image_shape
  context = p.begin(state)
  gathered = union_images.build_gathering(image_shape)(client_data)
  trained = p.server(
    state, state.global_model_weights, context, server_data, gathered
  )
  metrics = trained.measurements
  given_labels = ()
  if returns_given_labels:
    given_labels = composition.run(
      union_images.select_own,
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
