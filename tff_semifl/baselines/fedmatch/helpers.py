# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FedMatch's helpers: clients whose models label images of another client.

The server keeps each client's model, and the model's output for a fixed noise
image. By default, in every tenth round each client with a known model receives
the two models with the most similar outputs. Neither secure aggregation nor
noise can hide clients' models from the server.
"""

from collections.abc import Callable, Sequence
import pathlib
from typing import Any, NamedTuple

import numpy as np
from scipy import spatial
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import client_states
from tff_semifl.core import client_work
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.core import rows
from tff_semifl.data import pipelines
from tff_semifl.models import fedmatch_networks
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds

# The distribution of the noise image, before truncation to 0..255.
_PROBE_MEAN = 125.0
_PROBE_STANDARD_DEVIATION = 125.0


class ClientModel(NamedTuple):
  """A client's stored model."""

  phi: Any
  output: Any  # Probabilities for the noise image, float32 [classes].
  is_usable: Any  # Whether the client has an update.


def create_probe_image(
  image_shape: tuple[int, int, int], seed: int
) -> np.ndarray:
  """Normal noise, an image in 0..255: float32 [1, height, width, channels]."""
  generator = random_seeds.numpy_generator(
    seed, random_seeds.Purpose.PROBE_IMAGE
  )
  image = np.full([1, *image_shape], -1.0)
  while np.any(is_outside := (image < 0) | (image > 255)):
    image[is_outside] = generator.normal(
      _PROBE_MEAN, _PROBE_STANDARD_DEVIATION, size=is_outside.sum()
    )
  return image.astype(np.float32)


def build_helped_work(
  classifier: functional.ImageClassifier,
  build_work: Callable[[tuple[tf.Tensor, ...]], client_work.ClientWork],
  seed: int,
) -> client_work.ClientWork:
  """Builds client work that takes helpers and returns a `ClientModel`.

  The memory before a round is the stacked phi of the client's helpers, if any.
  `build_work` is (phi of helpers) -> client work, with an optimizer that
  starts anew in each round. `seed` determines the noise image.
  """
  parts = fedmatch_networks.find_parts(classifier.trainable_names)
  probe_image = create_probe_image(classifier.image_shape, seed)

  def no_helpers():
    return tuple(
      rows.no_rows(array.shape, array.dtype)
      for array in parts.select_phi(classifier.initial_weights.trainable)
    )

  def update_client(
    received: Any, dataset: tf.data.Dataset, helpers: Any
  ) -> tuple[client_work.ClientResult, client_work.ClientSums]:
    weights, _ = received
    result, sums = build_work(tuple(helpers)).update(received, dataset)
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
    initialize_memory=no_helpers,
  )


def predict(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  helpers: tuple[tf.Tensor, ...],
  images: tf.Tensor,
) -> tf.Tensor:
  """The helpers' logits in training mode, float32 [helpers, batch, classes]."""
  parts = fedmatch_networks.find_parts(classifier.trainable_names)

  def predict_one(index: tf.Tensor, logits: tf.Tensor):
    phi = [tensor[index] for tensor in helpers]
    model = weights._replace(trainable=parts.with_phi(weights.trainable, phi))
    of_one = classifier.train_logits(model, images)
    return index + 1, tf.concat([logits, of_one[tf.newaxis]], axis=0)

  # `tf.map_fn` cannot stack the logits of zero helpers.
  shape = [None, None, classifier.num_classes]
  _, logits = tf.while_loop(
    lambda index, _: index < tf.shape(helpers[0])[0],
    predict_one,
    (0, tf.zeros([0, tf.shape(images)[0], classifier.num_classes])),
    shape_invariants=(tf.TensorShape([]), tf.TensorShape(shape)),
  )
  return logits


def agreed_labels(logits: tf.Tensor, helper_logits: tf.Tensor) -> tf.Tensor:
  """The class that most models predict, int32 [batch]; in a tie, the lowest.

  `logits` are from the client's model, float32 [batch, classes];
  `helper_logits` are float32 [helpers, batch, classes], with 0 or more helpers.
  """
  all_logits = tf.concat([logits[tf.newaxis], helper_logits], axis=0)
  votes = tf.one_hot(tf.argmax(all_logits, axis=-1), logits.shape[-1])
  return tf.argmax(tf.reduce_sum(votes, axis=0), -1, output_type=tf.int32)


def mean_of_counted(values: tf.Tensor, is_counted: tf.Tensor) -> tf.Tensor:
  """The mean of the float32 [batch] values that are counted; 0 if none is."""
  counted = tf.cast(is_counted, values.dtype)
  return tf.math.divide_no_nan(
    tf.reduce_sum(values * counted), tf.reduce_sum(counted)
  )


class Helpers:
  """A `client_states.Memories` that stores clients' models and chooses helpers.

  Models and outputs are in files. A run can resume after any of the last
  `num_kept` rounds.
  """

  def __init__(
    self,
    process: federated_process.FederatedProcess,
    folder: pathlib.Path,
    *,
    num_clients: int,
    num_helpers: int = 2,
    rounds_per_help: int = 10,
    num_kept: int,
  ):
    self._no_helpers = process.initialize_memory
    self._num_clients = num_clients
    self._num_helpers = num_helpers
    self._rounds_per_help = rounds_per_help
    model_type = process.next.type_signature.result.memories.member
    self._models = client_states.ClientStates(
      folder / 'models',
      lambda: tuple(
        np.zeros(part.shape, part.dtype) for part in model_type.phi
      ),
      num_kept=num_kept,
    )
    self._outputs = client_states.ClientStates(
      folder / 'outputs',
      # NaN marks the output of a client whose model is not known.
      lambda: np.full(model_type.output.shape, np.nan, np.float32),
      num_kept=num_kept,
    )

  def initialize(self) -> tuple[()]:
    return ()

  def recall(
    self, held: tuple[()], round_num: int, cohort: Sequence[int]
  ) -> list[Any]:
    """The stacked phi of the helpers of each client in a cohort."""
    del held
    choices = [()] * len(cohort)
    if cohort and round_num % self._rounds_per_help == 0:
      outputs = [
        self._outputs.load(client, round_num)
        for client in range(self._num_clients)
      ]
      choices = choose_helpers(np.stack(outputs), cohort, self._num_helpers)
    return [
      tf.nest.map_structure(
        lambda *arrays: np.stack(arrays),
        *(self._models.load(helper, round_num) for helper in helpers),
      )
      if helpers
      else self._no_helpers()
      for helpers in choices
    ]

  def keep(
    self,
    held: tuple[()],
    round_num: int,
    cohort: Sequence[int],
    returned: Sequence[ClientModel | None],
  ) -> tuple[()]:
    for client, model in zip(cohort, returned, strict=True):
      if model is not None and model.is_usable:
        self._models.save(client, model.phi, round_num)
        self._outputs.save(client, model.output, round_num)
    return held


def choose_helpers(
  outputs: np.ndarray, clients: Sequence[int], num_helpers: int
) -> list[Sequence[int]]:
  """Each client's helpers: the clients with the nearest outputs, in order.

  `outputs` are float [clients, classes], NaN for clients without a known model,
  which get no helpers. If at most `num_helpers` models are known, no client
  gets helpers.
  """
  known = np.flatnonzero(np.all(np.isfinite(outputs), axis=1))
  if len(known) <= num_helpers:
    return [()] * len(clients)
  tree = spatial.cKDTree(outputs[known])
  choices = []
  for client in clients:
    if client not in known:
      choices.append(())
      continue
    # The client itself may not come first, if other outputs are at distance 0.
    _, nearest = tree.query(outputs[client], k=num_helpers + 1)
    others = [int(helper) for helper in known[nearest] if helper != client]
    choices.append(others[:num_helpers])
  return choices


def fedmatch_round(
  p: composition.Parts,
  state: tff.Value,
  server_data: tff.Value,
  client_data: tff.Value,
  memories: tff.Value,
) -> federated_process.RoundOutput:
  """A round of FedMatch: the server trains sigma, then clients train phi.

  The new phi is the mean of the clients' phi. In round 0 only the server
  trains; the authors' code has no such round. A client's memory before a round
  is the phi of its helpers, and after the round a `ClientModel`.
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
  tuned = p.server(state, state.global_model_weights, context, server_data)
  received = composition.broadcast(tuned.weights, context)
  trained = p.clients(received, client_data, memories)
  mean = p.mean(state, trained)
  return p.finish(
    state,
    context,
    trained,
    server_data,
    {'server': tuned.measurements, 'aggregator': mean.measurements},
    global_model_weights=composition.run(
      apply, mean.is_used, tuned.weights, mean.update
    ),
    aggregator=mean.state,
  )
