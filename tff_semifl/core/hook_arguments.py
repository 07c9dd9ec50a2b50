# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Arguments of a method's hooks: `Server`, `ClientContext` and `Step`.

All tensors belong to a graph that is being traced.
"""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
from typing import Any, NamedTuple

import tensorflow as tf

from tff_semifl.core import federated_process
from tff_semifl.core import losses
from tff_semifl.core import pseudo_labels
from tff_semifl.core import rows as rows_lib
from tff_semifl.models import features as features_lib
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds


@dataclasses.dataclass(frozen=True, kw_only=True)
class Server:
  """The server's model, weights and data, an argument of server hooks.

  Attributes:
    seed: int32 scalar, the run's seed.
    weights: The global model: in `tell` before the round, in `update` after
      the clients' updates were averaged, in `guidance` after the round.
    num_clients: The number of all clients; None if unknown.
    data: The labeled images, chunks with `image`, uint8 [images, height, width,
      channels], and `label`, int32 [images].
  """

  model: functional.ImageClassifier
  seed: tf.Tensor
  round_num: tf.Tensor
  weights: functional.ModelWeights
  num_clients: int | None = None
  data: tf.data.Dataset | Any = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientContext:
  """A client's images, weights and messages, an argument of client hooks.

  Attributes:
    images: uint8 [images, height, width, channels], all images of the client;
      in `label` with `relabel='batch'`, the weakly augmented batch.
    guidance: The server's message to clients; None without a message.
    part_guidance: The messages to parts of the method, by name.
    received: The received weights.
    weights: The received weights; in `label` with `relabel='batch'`, the
      current weights.
    logits_fn: Weights -> the result of `logits`.
    features_fn: Weights -> the result of `features`.
    true_labels: int32 [images], -1 for an image without a label; None in
      systems whose clients have no labels.
    labels: After `label`, the labels of all images if images are labeled once a
      round; else None.
    num_trained_on: int32 scalar, the number of images selected for training;
      None if `labels` is None.
    memory: What the client kept in its last round; () without a memory.
    new_memory: In `report` the result of `after_round`; else ().
    learning_rate: float32 scalar, the learning rate of the round.
  """

  images: tf.Tensor
  guidance: Any
  part_guidance: Mapping[str, Any]
  received: functional.ModelWeights
  weights: functional.ModelWeights
  num_classes: int
  logits_fn: Callable[[functional.ModelWeights], tf.Tensor]
  features_fn: Callable[[functional.ModelWeights], tf.Tensor]
  true_labels: tf.Tensor | Any = None
  labels: pseudo_labels.PseudoLabels | Any = None
  num_trained_on: tf.Tensor | Any = None
  memory: Any = ()
  new_memory: Any = ()
  learning_rate: tf.Tensor | Any = None

  def by(self, weights: functional.ModelWeights) -> 'ClientContext':
    """A copy with other weights for labeling, such as a teacher's weights."""
    return dataclasses.replace(self, weights=weights)

  def of_part(self, name: str) -> 'ClientContext':
    """A copy whose `guidance` is the message to a part of the method."""
    return dataclasses.replace(self, guidance=self.part_guidance.get(name))

  def logits(self) -> tf.Tensor:
    """The logits of weakly augmented images, float32 [images, classes].

    The model is in inference mode; in `label` with `relabel='batch'`, in
    training mode without dropout.
    """
    return self.logits_fn(self.weights)

  def features(self) -> tf.Tensor:
    """The inputs of the last layer, float32 [images, features]; see `logits`.

    Raises a ValueError if the last layer of the model is not dense.
    """
    return self.features_fn(self.weights)


class Mix(NamedTuple):
  """Images for mixup: a random image of the client for each image of a batch.

  Images that are not selected for training may be drawn, too. `weak` are the
  same images with weak augmentation.
  """

  images: tf.Tensor
  weak: tf.Tensor
  labels: pseudo_labels.PseudoLabels


@dataclasses.dataclass(frozen=True, kw_only=True)
class Step:
  """A training step: a batch of images, and the current model.

  Padding may follow the images of a batch (`rows`). The methods of `Step`
  ignore padding; a plain `tf.reduce_mean` would not.

  Attributes:
    images: uint8 [batch, height, width, channels].
    weak: The images, weakly augmented.
    strong: The images, strongly augmented.
    mix: Images for mixup; None if images are labeled batch by batch.
    weights: The current weights.
    image_weights: float32 [batch], the weights of images in the loss; None for
      equal weights.
    node: The source of random numbers.
    keys: int32 scalars that identify the step: epoch and batch.
    passes: The cached outputs of forward passes with the current weights.
  """

  images: tf.Tensor
  weak: tf.Tensor
  strong: tf.Tensor
  labels: pseudo_labels.PseudoLabels
  mix: Mix | Any
  weights: functional.ModelWeights
  client: ClientContext
  model: functional.ImageClassifier
  rows: rows_lib.Rows
  image_weights: tf.Tensor | None
  node: federated_process.Node
  keys: Sequence[tf.Tensor]
  passes: dict[Any, tf.Tensor] = dataclasses.field(default_factory=dict)

  @property
  def received(self) -> functional.ModelWeights:
    """The weights that the client received."""
    return self.client.received

  @property
  def guidance(self) -> Any:
    """The server's message to clients."""
    return self.client.guidance

  def seed(self, purpose: random_seeds.Purpose, *keys: int) -> tf.Tensor:
    """A stateless seed of this step, int32 [2].

    `keys` distinguish several draws for one purpose in the step.
    """
    return self.node.seed(purpose, *self.keys, *keys)

  def logits(
    self,
    images: tf.Tensor,
    weights: functional.ModelWeights | None = None,
    *,
    dropout_key: int = 0,
  ) -> tf.Tensor:
    """The logits of images in training mode, float32 [batch, classes].

    Args:
      images: uint8 or float32 [batch, height, width, channels], in 0..255.
      weights: By default the current weights.
      dropout_key: Passes of a step with equal keys have the same dropout mask.
    """
    return self._pass(self.model.train_logits, images, weights, dropout_key)

  def features(
    self,
    images: tf.Tensor,
    weights: functional.ModelWeights | None = None,
    *,
    dropout_key: int = 0,
  ) -> tf.Tensor:
    """The inputs of the last layer, float32 [batch, features]; see `logits`.

    Raises a ValueError if the last layer of the model is not dense.
    """
    features = features_lib.require_features(self.model.features)
    return self._pass(features.train, images, weights, dropout_key)

  def mean(self, values: tf.Tensor) -> tf.Tensor:
    """The batch mean of `values`, float32 [batch], times `image_weights`."""
    weights = self.rows.weigh(self.image_weights)
    return tf.reduce_mean(values if weights is None else values * weights)

  def cross_entropy(
    self, logits: tf.Tensor, targets: tf.Tensor | None = None
  ) -> tf.Tensor:
    """The mean cross-entropy over the images of the batch, a float32 scalar.

    The labels' offset, if any, is added to the logits.

    Args:
      logits: float32 [batch, classes].
      targets: int32 [batch] or float32 [batch, classes]; by default the labels.
    """
    return losses.cross_entropy(
      logits,
      self.labels.labels if targets is None else targets,
      self.rows.weigh(self.image_weights),
      offset=self.labels.offset,
    )

  def distance(self, weights: functional.ModelWeights) -> tf.Tensor:
    """The squared Euclidean distance to `weights`, over trainable weights."""
    return tf.add_n(
      [
        tf.reduce_sum(tf.math.squared_difference(own, other))
        for own, other in zip(
          self.weights.trainable, weights.trainable, strict=True
        )
      ]
    )

  @property
  def first_logits(self) -> tf.Tensor | None:
    """The logits of the first forward pass; None before that pass."""
    for (function, *_), outputs in self.passes.items():
      if function is self.model.train_logits:
        return outputs
    return None

  def _pass(
    self,
    function: Callable[..., tf.Tensor],
    images: tf.Tensor,
    weights: functional.ModelWeights | None,
    dropout_key: int,
  ) -> tf.Tensor:
    images = tf.convert_to_tensor(images)
    key = (function, images.ref(), dropout_key)
    if weights is None and key in self.passes:
      return self.passes[key]
    outputs = function(
      self.weights if weights is None else weights,
      tf.cast(images, tf.float32),
      self.seed(random_seeds.Purpose.DROPOUT_MASK, dropout_key),
      self.rows.num_real,
    )
    if weights is None:
      self.passes[key] = outputs
    return outputs
