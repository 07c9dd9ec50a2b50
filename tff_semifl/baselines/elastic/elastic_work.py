# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Client work of elastic averaging.

A client trains its own model, moves it a fraction of the way to the anchor that
the server sent, and keeps it for its next round.
"""

from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import client_work
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.training import client_report
from tff_semifl.training import optimizers
from tff_semifl.training import training_loop
from tff_semifl.training import weight_diversity


class ElasticMemory(NamedTuple):
  """The memory of a client.

  Attributes:
    trainable: The trainable weights of its own model.
  """

  trainable: Any
  optimizer_state: Any


def build_elastic_work(
  classifier: functional.ImageClassifier,
  train_fn: client_work.LocalTrainingFn,
  *,
  optimizer: tff.learning.optimizers.Optimizer,
  pull: float,
  max_update_norm_ratio: float,
) -> client_work.ClientWork:
  """Builds client work in which each client trains a model of its own.

  With z for the anchor and x for the client's model after training:

      update = z - x
      next model = (1 - pull) * x + pull * z

  A client that is rejected or has no images has an update of zero and keeps its
  memory.

  Args:
    classifier: The model, whose initial weights are those of all clients.
    train_fn: Trains on a client's labeled images.
    optimizer: The optimizer of `train_fn`.
    pull: In [0, 1].
    max_update_norm_ratio: As in `client_work.build_client_work`, for the change
      of the client's own model by training.

  Returns:
    Client work on chunks of `pipelines.labeled_client_type`, with an
    `ElasticMemory` for each client.
  """
  kernel_index = weight_diversity.find_classifier_kernel(classifier)

  def initialize_memory() -> ElasticMemory:
    trainable = classifier.initial_weights.trainable
    return ElasticMemory(
      tuple(tf.constant(array) for array in trainable),
      training_loop.initial_optimizer_state(optimizer, trainable),
    )

  def update_client(
    received: Any, dataset: tf.data.Dataset, memory: ElasticMemory
  ) -> tuple[client_report.ClientResult, client_report.ClientSums]:
    anchor, context = received
    own = anchor._replace(trainable=tuple(memory.trainable))
    local = train_fn(
      own,
      context,
      pipelines.concatenate_chunks(dataset),
      optimizer.set_hparams(
        memory.optimizer_state,
        {optimizers.LEARNING_RATE_KEY: context.learning_rate},
      ),
    )
    result, sums = client_report.report(
      own,
      memory.optimizer_state,
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
    memory = ElasticMemory(tuple(pulled), result.memory)
    return result._replace(update=tuple(update), memory=memory), sums

  return client_work.ClientWork(
    update=update_client,
    data_type=pipelines.labeled_client_type(classifier.image_shape),
    initialize_memory=initialize_memory,
  )
