# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The turn of one of FedMatch's clients: with helpers, and with a report.

A client receives phi of other clients beside the weights, and reports, beside
its update, what makes it a helper of others: its own phi, and what its model
says of one fixed image of noise, by which clients that are alike are found.
"""

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import optimizers
from tff_semifl import random_seeds
from tff_semifl.data import pipelines
from tff_semifl.models import decomposed_convolution
from tff_semifl.models import functional
from tff_semifl.work import client_work
from tff_semifl.work import fedmatch_training
from tff_semifl.work import given_labels as given_labels_lib
from tff_semifl.work import round_context
from tff_semifl.work import training_loop
from tff_semifl.work import weight_diversity

# Of the grey levels of the image of noise, before it is cut to 0..255.
_PROBE_MEAN = 125.0
_PROBE_STANDARD_DEVIATION = 125.0


class ClientModel(NamedTuple):
  """What the server remembers of a client.

  Attributes:
    phi: Its phi, after its turn.
    output: float32 [classes], the probabilities that its model has for the
      image of noise.
    is_usable: bool scalar, whether the client has trained it.
  """

  phi: Any
  output: Any
  is_usable: Any


class HelpedClientResult(NamedTuple):
  """TFF's `ClientResult` and the client's model.

  Attributes:
    update: Initial weights minus trained ones.
    update_weight: float32 scalar.
    model: A `ClientModel`.
    given_labels: The pseudo-labels that it gave, if they are kept.
  """

  update: Any
  update_weight: Any
  model: Any
  given_labels: given_labels_lib.KeptLabels = given_labels_lib.NOT_KEPT


def create_probe_image(
  image_shape: tuple[int, int, int], seed: int
) -> np.ndarray:
  """Creates the image of noise: normal, truncated to 0..255.

  Args:
    image_shape: Height, width, channels.
    seed: The run's seed.

  Returns:
    float32 [1, height, width, channels].
  """
  generator = random_seeds.numpy_generator(
    seed, random_seeds.Purpose.PROBE_IMAGE
  )
  image = np.full([1, *image_shape], -1.0)
  while np.any(is_outside := (image < 0) | (image > 255)):
    image[is_outside] = generator.normal(
      _PROBE_MEAN, _PROBE_STANDARD_DEVIATION, size=is_outside.sum()
    )
  return image.astype(np.float32)


def helpers_type(classifier: functional.ImageClassifier) -> tff.Type:
  """The type of what a client is sent of its helpers: phi, of any number."""
  parts = decomposed_convolution.find_parts(classifier.trainable_names)
  return tff.types.to_type(
    tuple(
      tff.TensorType(array.dtype, (None, *array.shape))
      for array in parts.select_phi(classifier.initial_weights.trainable)
    )
  )


def build_fedmatch_client_work(
  classifier: functional.ImageClassifier,
  train_fn: fedmatch_training.HelpedTrainingFn,
  *,
  optimizer: tff.learning.optimizers.Optimizer,
  max_update_norm_ratio: float,
  seed: int,
  return_given_labels: bool = False,
) -> tff.Computation:
  """Builds the turn of a cohort.

  With W for model weights, R for `RoundContext`, U for chunks of
  `pipelines.client_type` and H for `helpers_type`:

      (<{<W, R>}@CLIENTS, {U*}@CLIENTS, {H}@CLIENTS>
       -> <result={HelpedClientResult}@CLIENTS,
           measurements=<loss, accuracy, label_ratio, num_participating,
                         num_rejected, weight_diversity,
                         relative_weight_diversity>@SERVER>)

  Updates and measurements are those of `build_client_work`.

  Args:
    classifier: The model, with kernels of two parts.
    train_fn: Trains on a client's images.
    optimizer: Begins afresh in each turn, with the round's learning rate.
    max_update_norm_ratio: As in `Hyperparameters`.
    seed: The run's seed, which the image of noise is made from.
    return_given_labels: Whether results have `GivenLabels`.
  """
  parts = decomposed_convolution.find_parts(classifier.trainable_names)
  probe_image = create_probe_image(classifier.image_shape, seed)
  received_type = tff.types.to_type(
    (classifier.weights_type, round_context.ROUND_CONTEXT_TYPE)
  )
  data_type = pipelines.client_type(classifier.image_shape)
  kernel_index = weight_diversity.find_classifier_kernel(classifier)

  @tff.tensorflow.computation(
    received_type, data_type, helpers_type(classifier)
  )
  def work(received: Any, dataset: tf.data.Dataset, helpers: Any):
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
    result, sums = client_work.report(
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
    return (
      HelpedClientResult(
        result.update, result.update_weight, model, result.given_labels
      ),
      sums,
    )

  _, summarize = client_work.build_server_side(
    weight_diversity.update_sums_type(classifier, kernel_index)
  )

  @tff.federated_computation(
    *(
      tff.FederatedType(part, tff.CLIENTS)
      for part in work.type_signature.parameter
    )
  )
  def federated_work(received, data, helpers):
    result, sums = tff.federated_map(work, (received, data, helpers))
    return result, tff.federated_map(summarize, tff.federated_sum(sums))

  return federated_work
