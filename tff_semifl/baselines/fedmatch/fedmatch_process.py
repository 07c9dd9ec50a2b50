# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FedMatch with labels at the server, in its authors' version.

The authors' program divides the learning rate by three after 20 validations
without improvement. That is left out: it needs labeled images at the clients.

References:
  Jeong, Yoon, Yang, Hwang. Federated Semi-Supervised Learning with Inter-Client
  Consistency & Disjoint Learning. ICLR 2021. https://arxiv.org/abs/2006.12097
"""

import functools
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.baselines.fedmatch import fedmatch_training
from tff_semifl.core import client_work
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.data import pipelines
from tff_semifl.models import fedmatch_networks
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds


def fedmatch_round(
  p: composition.Parts,
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
  received = composition.broadcast(tuned.weights, context)
  trained = p.clients(received, client_data, helpers)
  mean = p.mean(state, trained)
  return p.finish(
    state,
    context,
    trained,
    {'server': tuned.measurements, 'aggregator': mean.measurements},
    global_model_weights=composition.run(
      apply, mean.is_used, tuned.weights, mean.update
    ),
    aggregator=mean.state,
  )


# Distribution of the image of noise, before it is truncated to 0..255.
_PROBE_MEAN = 125.0
_PROBE_STANDARD_DEVIATION = 125.0


class ClientModel(NamedTuple):
  """The stored model of a client.

  Attributes:
    phi: Its phi after local training.
    output: float32 [classes], its probabilities for the image of noise.
    is_usable: bool scalar, whether the client has trained it.
  """

  phi: Any
  output: Any
  is_usable: Any


def create_probe_image(
  image_shape: tuple[int, int, int], seed: int
) -> np.ndarray:
  """Creates normal noise in 0..255, float32 [1, height, width, channels]."""
  generator = random_seeds.numpy_generator(
    seed, random_seeds.Purpose.PROBE_IMAGE
  )
  image = np.full([1, *image_shape], -1.0)
  while np.any(is_outside := (image < 0) | (image > 255)):
    image[is_outside] = generator.normal(
      _PROBE_MEAN, _PROBE_STANDARD_DEVIATION, size=is_outside.sum()
    )
  return image.astype(np.float32)


def no_helpers(classifier: functional.ImageClassifier) -> tuple[tf.Tensor, ...]:
  """Phi of no helper, of a type for any number of helpers."""
  parts = fedmatch_networks.find_parts(classifier.trainable_names)
  # A constant would have a fixed shape.
  return tuple(
    tf.compat.v1.placeholder_with_default(
      tf.zeros([0, *array.shape], array.dtype), [None, *array.shape]
    )
    for array in parts.select_phi(classifier.initial_weights.trainable)
  )


def build_fedmatch_client_work(
  classifier: functional.ImageClassifier,
  train_fn: fedmatch_training.HelpedTrainingFn,
  *,
  optimizer: tff.learning.optimizers.Optimizer,
  max_update_norm_ratio: float,
  seed: int,
  return_given_labels: bool = False,
) -> client_work.ClientWork:
  """Builds client work with helpers, and with `ClientModel` as a result.

  The memory that a client brings is phi of its helpers, stacked along the first
  dimension, at first none; the memory that it leaves is a `ClientModel`. The
  optimizer starts afresh in each round. The image of noise follows from `seed`.
  Other arguments are as in `client_work.build_client_work`.
  """
  parts = fedmatch_networks.find_parts(classifier.trainable_names)
  probe_image = create_probe_image(classifier.image_shape, seed)

  def update_client(received: Any, dataset: tf.data.Dataset, helpers: Any):
    weights, _ = received
    result, sums = client_work.build_client_work(
      classifier,
      functools.partial(train_fn, helpers=tuple(helpers)),
      optimizer=optimizer,
      max_update_norm_ratio=max_update_norm_ratio,
      return_given_labels=return_given_labels,
    ).update(received, dataset)
    trained = tuple(
      before - update
      for before, update in zip(weights.trainable, result.update, strict=True)
    )
    logits = classifier.train_logits(
      functional.ModelWeights(trained, weights.non_trainable), probe_image
    )
    model = ClientModel(
      phi=tuple(parts.select_phi(trained)),
      output=tf.nn.softmax(logits)[0],
      is_usable=result.update_weight > 0.0,
    )
    return result._replace(memory=model), sums

  return client_work.ClientWork(
    update=update_client,
    data_type=pipelines.client_type(classifier.image_shape),
    initialize_memory=functools.partial(no_helpers, classifier),
  )
