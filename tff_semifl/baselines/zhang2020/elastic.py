# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Elastic averaging: each client has its own model, tied to a shared anchor.

Table 4 of Zhang et al. compares their systems with EASGD and overlap SGD. All
clients have labels; the server has no images and does not train.

    each round, with the anchor z, a client's own model x, and the pull a:
      x = train(x)
      EASGD:       z, x = z + a sum(x - z), x + a (z - x)
      overlap SGD: z, x = z + momentum step to the mean of x, x + a (z - x)

References:
  Zhang, Choromanska, LeCun. Deep learning with elastic averaging SGD. NeurIPS
  2015.
  Wang, Liang, Joshi. Overlap local-SGD: An algorithmic approach to hide
  communication delays in distributed SGD. ICASSP 2020.
"""

import abc
import dataclasses
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.algorithms import round_parts
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.augment import augmentation
from tff_semifl.baselines.zhang2020 import local_steps
from tff_semifl.baselines.zhang2020 import zhang2020
from tff_semifl.core import alternating_round
from tff_semifl.core import client_work
from tff_semifl.core import composition
from tff_semifl.core import optimizers
from tff_semifl.core import training_loop
from tff_semifl.data import pipelines
from tff_semifl.privacy import aggregators

# The pull a, and the anchor's momentum, by default in the code of Wang et al.
_PULL, _MOMENTUM = 0.6, 0.7


class _Anchor(NamedTuple):
  """How clients are pulled to the anchor, and how the anchor moves."""

  pull: float  # A client moves by this fraction of the distance.
  aggregator: tff.aggregators.AggregationFactory  # The aggregation of updates.
  optimizer: optimizers.Optimizer


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Elastic(zhang2020.ManyShortRounds):
  labels = system.Labels.AT_CLIENTS
  uses_strong_views = False

  def build(self, ingredients: system.Ingredients) -> system.Process:
    classifier = ingredients.classifier
    optimizer = self.optimizer.build()
    steps = self.create_steps(classifier, optimizer)
    anchor = self.build_anchor()
    weights_type = classifier.weights_type
    return composition.build(
      composition.Parts(
        classifier=classifier,
        seed=ingredients.seed,
        learning_rate_fn=steps.last_learning_rate,
        client_work=build_elastic_work(
          steps,
          ingredients.weak_augmentation,
          pull=anchor.pull,
          max_update_norm_ratio=self.rejection.max_update_norm_ratio,
        ),
        aggregator=aggregators.create(
          anchor.aggregator, weights_type.trainable
        ),
        finalizer=tff.learning.templates.build_apply_optimizer_finalizer(
          anchor.optimizer, weights_type
        ),
        # The server has no images and takes no step.
        server_work=round_parts.build_server_work(
          ingredients, optimizer, training_settings.NO_SERVER_STEP
        ),
      ),
      alternating_round.semifl_round,
    )

  @abc.abstractmethod
  def build_anchor(self) -> _Anchor:
    """Chooses how clients and the anchor move toward each other."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EASGD(_Elastic):
  """Elastic averaging SGD: clients and a shared anchor pull each other."""

  def build_anchor(self) -> _Anchor:
    pull = 0.9 / max(self.cohorts.filled_size, 1)
    return _Anchor(
      pull,
      tff.aggregators.SumFactory(),
      tff.learning.optimizers.build_sgdm(pull),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class OverlapSGD(_Elastic):
  """Overlap local SGD: clients keep training while models are averaged."""

  def build_anchor(self) -> _Anchor:
    return _Anchor(
      _PULL,
      aggregators.Mean().build(),
      # The fraction of an update z - x that is left after the pull.
      tff.learning.optimizers.build_sgdm(1.0 - _PULL, momentum=_MOMENTUM),
    )


class ElasticMemory(NamedTuple):
  """The trainable weights of a client's own model, and its optimizer state."""

  trainable: Any
  optimizer_state: Any


def build_elastic_work(
  steps: local_steps.LocalSteps,
  weak_augmentation: augmentation.Augmentation,
  *,
  pull: float,
  max_update_norm_ratio: float,
) -> client_work.ClientWork:
  """Builds client work in which each client trains its own model x.

  With the anchor z, a client sends the update z - x, and its next model is x +
  pull * (z - x). If a client has no images or its update is rejected, the
  client sends zeros and keeps its memory.
  """
  classifier, optimizer = steps.classifier, steps.optimizer
  kernel_index = client_work.find_classifier_kernel(classifier)

  def initialize_memory() -> ElasticMemory:
    trainable = classifier.initial_weights.trainable
    return ElasticMemory(
      tuple(tf.constant(array) for array in trainable),
      training_loop.initial_optimizer_state(optimizer, trainable),
    )

  def update_client(
    received: Any, dataset: tf.data.Dataset, memory: ElasticMemory
  ) -> tuple[client_work.ClientResult, client_work.ClientSums]:
    anchor, context = received
    own = anchor._replace(trainable=tuple(memory.trainable))
    local = local_steps.train_labeled_client(
      steps,
      weak_augmentation,
      own,
      context,
      pipelines.concatenate_chunks(dataset),
      optimizers.with_rate(
        optimizer, memory.optimizer_state, context.learning_rate
      ),
    )
    result, sums = client_work.report(
      own,
      client_work.Memory(memory.optimizer_state),
      local,
      max_update_norm_ratio=max_update_norm_ratio,
      kernel_index=kernel_index,
    )
    counts = result.update_weight > 0
    update, pulled = [], []
    for z, x, old in zip(
      anchor.trainable, local.training.trainable, own.trainable, strict=True
    ):
      update.append(tf.where(counts, z - x, tf.zeros_like(x)))
      pulled.append(tf.where(counts, (1.0 - pull) * x + pull * z, old))
    memory = ElasticMemory(tuple(pulled), result.memory.optimizer_state)
    return result._replace(update=tuple(update), memory=memory), sums

  return client_work.ClientWork(
    update=update_client,
    data_type=pipelines.labeled_client_type(classifier.image_shape),
    initialize_memory=initialize_memory,
  )
