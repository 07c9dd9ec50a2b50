# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Client work of FedMatch, with helpers and a report of the client's model.

A client receives phi of other clients beside the weights. Beside its update, it
reports its own phi, for other clients, and the output of its model for a fixed
image of noise, by which the server finds similar clients.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.baselines.fedmatch import fedmatch_training
from tff_semifl.core import client_work
from tff_semifl.data import pipelines
from tff_semifl.models import decomposed_convolution
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds

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
  parts = decomposed_convolution.find_parts(classifier.trainable_names)
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
  parts = decomposed_convolution.find_parts(classifier.trainable_names)
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
