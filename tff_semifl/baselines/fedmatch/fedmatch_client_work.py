# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Client work of FedMatch, with helpers and a report of the client's model.

A client receives phi of other clients beside the weights. Beside its update, it
reports its own phi, for other clients, and the output of its model for a fixed
image of noise, by which the server finds similar clients.
"""

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.baselines.fedmatch import fedmatch_training
from tff_semifl.core import round_context
from tff_semifl.data import pipelines
from tff_semifl.models import decomposed_convolution
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds
from tff_semifl.training import client_report
from tff_semifl.training import client_work_process
from tff_semifl.training import given_labels as given_labels_lib
from tff_semifl.training import optimizers
from tff_semifl.training import training_loop
from tff_semifl.training import weight_diversity

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


def build_no_helpers(classifier: functional.ImageClassifier) -> tff.Computation:
  """Builds ( -> phi of no helper), of a type for any number of helpers."""
  parts = decomposed_convolution.find_parts(classifier.trainable_names)
  phi = parts.select_phi(classifier.initial_weights.trainable)

  @tff.tensorflow.computation
  def no_helpers():
    # A constant would have a fixed shape.
    return tuple(
      tf.compat.v1.placeholder_with_default(
        tf.zeros([0, *array.shape], array.dtype), [None, *array.shape]
      )
      for array in phi
    )

  return no_helpers


def build_fedmatch_client_work(
  classifier: functional.ImageClassifier,
  train_fn: fedmatch_training.HelpedTrainingFn,
  *,
  optimizer: tff.learning.optimizers.Optimizer,
  max_update_norm_ratio: float,
  seed: int,
  return_given_labels: bool = False,
) -> client_work_process.ClientWorkProcess:
  """Builds client work with helpers, and with `ClientModel` as a result.

  The memory that a client brings is phi of its helpers, stacked along the first
  dimension, at first none; the memory that it leaves is a `ClientModel`. The
  optimizer starts afresh in each round. The image of noise follows from `seed`.
  Other arguments are as in `client_work.build_client_work`.

  Returns:
    A `ClientWorkProcess` with memories, and the measurements of
    `client_work.build_client_work`.
  """
  parts = decomposed_convolution.find_parts(classifier.trainable_names)
  probe_image = create_probe_image(classifier.image_shape, seed)
  received_type = tff.types.to_type(
    (classifier.weights_type, round_context.ROUND_CONTEXT_TYPE)
  )
  data_type = pipelines.client_type(classifier.image_shape)
  kernel_index = weight_diversity.find_classifier_kernel(classifier)

  no_helpers = build_no_helpers(classifier)

  @tff.tensorflow.computation(
    received_type, data_type, no_helpers.type_signature.result
  )
  def update_client(received: Any, dataset: tf.data.Dataset, helpers: Any):
    weights, context = received
    optimizer_state = optimizer.set_hparams(
      training_loop.initial_optimizer_state(
        optimizer, classifier.initial_weights.trainable
      ),
      {optimizers.LEARNING_RATE_KEY: context.learning_rate},
    )
    local = train_fn(
      weights,
      context,
      pipelines.concatenate_chunks(dataset),
      tuple(helpers),
      optimizer_state,
      given_labels_lib.none()
      if return_given_labels
      else given_labels_lib.NOT_KEPT,
    )
    result, sums = client_report.report(
      weights,
      optimizer_state,
      local,
      max_update_norm_ratio=max_update_norm_ratio,
      kernel_index=kernel_index,
    )
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

  return client_work_process.build_client_work_process(
    update_client,
    client_report.summarize,
    no_helpers,
  )
