# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What the hooks of a client method are given: server, turn and step.

All tensors belong to a graph that is being traced.
"""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
from typing import Any, NamedTuple

import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.core import round_context
from tff_semifl.models import features as features_lib
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds
from tff_semifl.training import losses
from tff_semifl.training import pseudo_labels
from tff_semifl.training import rows as rows_lib


@dataclasses.dataclass(frozen=True, kw_only=True)
class Server:
  """What the server knows of a round.

  Attributes:
    model: The model.
    seed: int32 scalar, the run's seed.
    round_num: int32 scalar, the round.
    weights: The global model: before the round when clients are told, after the
      round when they have reported.
    data: The server's images, when clients are told: a dataset of chunks with
      `image`, uint8 [images, height, width, channels], and `label`, int32
      [images]. Else None.
  """

  model: functional.ImageClassifier
  seed: tf.Tensor
  round_num: tf.Tensor
  weights: functional.ModelWeights
  data: tf.data.Dataset | Any = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Turn:
  """What a client has while it labels images, and when it reports.

  Attributes:
    images: uint8 [images, height, width, channels], all images of the client;
      where each batch is labeled by itself, weak views of the batch.
    guidance: What the server told clients.
    part_guidance: What it told parts of the method, by name.
    received: The weights that the client received.
    weights: The weights that label: those received, or the present ones where
      images are labeled during training.
    num_classes: The number of classes.
    true_labels: int32 [images], of a client that has labels; else None.
    labels: The labels of all images, when the client weighs its update and
      reports, if it labels once a round; else None.
    num_trained_on: int32 scalar, how many images are trained on, likewise.
    logits_fn: Weights -> the result of `logits`.
    features_fn: Weights -> the result of `features`.
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

  def by(self, weights: functional.ModelWeights) -> 'Turn':
    """Returns the turn with other weights that label, such as a teacher's."""
    return dataclasses.replace(self, weights=weights)

  def of_part(self, name: str) -> 'Turn':
    """Returns the turn as a part of the method sees it.

    Args:
      name: The part, of whose guidance `guidance` is then.
    """
    return dataclasses.replace(self, guidance=self.part_guidance.get(name, ()))

  def logits(self) -> tf.Tensor:
    """Returns the logits of a weak view of each image.

    The model is in inference mode; where each batch is labeled by itself, it is
    in training mode without dropout.

    Returns:
      float32 [images, classes].
    """
    return self.logits_fn(self.weights)

  def features(self) -> tf.Tensor:
    """Returns the inputs of the model's last layer, for the same views.

    Returns:
      float32 [images, features].

    Raises:
      ValueError: If the last layer of the model is not dense.
    """
    return self.features_fn(self.weights)


class Mix(NamedTuple):
  """Images to mix with: as many as the batch has, drawn from all the client's.

  Attributes:
    images: uint8 [batch, height, width, channels].
    weak: Weak views of the images.
    labels: Their labels, whether or not they are trained on.
  """

  images: tf.Tensor
  weak: tf.Tensor
  labels: pseudo_labels.PseudoLabels


class _Pass(NamedTuple):
  """A pass of views through the model with the present weights."""

  function: Callable[..., tf.Tensor]
  views: tf.Tensor
  outputs: tf.Tensor

  def is_of(self, function: Callable[..., tf.Tensor], views: tf.Tensor) -> bool:
    return self.function is function and self.views is views


@dataclasses.dataclass(frozen=True, kw_only=True)
class Step:
  """What a client has in a step: a batch of the images that are trained on.

  Padding may follow the images of a batch (`turn_form.COMPILED`). The methods
  of a step leave the padding out; a plain `tf.reduce_mean` would not.

  Attributes:
    images: uint8 [batch, height, width, channels].
    weak: Weak views of the images.
    strong: Strong views of the images.
    labels: The labels of the images.
    mix: Images to mix with; None where each batch is labeled by itself.
    weights: The present weights.
    turn: The turn.
    model: The model.
    rows: The batch.
    image_weights: (float32 [batch],), what each image weighs in the loss, or ()
      for all the same.
    weak_augmentation: See `augment_weakly`.
    node: The source of random numbers.
    keys: int32 scalars that set the step apart: epoch and batch.
    passes: The views that passed through the model.
  """

  images: tf.Tensor
  weak: tf.Tensor
  strong: tf.Tensor
  labels: pseudo_labels.PseudoLabels
  mix: Mix | Any
  weights: functional.ModelWeights
  turn: Turn
  model: functional.ImageClassifier
  rows: rows_lib.Rows
  image_weights: tuple[tf.Tensor, ...]
  weak_augmentation: augmentation.Augmentation
  node: round_context.Node
  keys: Sequence[tf.Tensor]
  passes: list[_Pass] = dataclasses.field(default_factory=list)

  @property
  def received(self) -> functional.ModelWeights:
    """The weights that the client received."""
    return self.turn.received

  @property
  def guidance(self) -> Any:
    """What the server told clients."""
    return self.turn.guidance

  def seed(self, purpose: random_seeds.Purpose, *keys: int) -> tf.Tensor:
    """Returns a seed for random numbers of this step.

    Args:
      purpose: What the numbers are for.
      *keys: What sets several uses in a step apart.

    Returns:
      int32 [2], a stateless seed.
    """
    return self.node.seed(purpose, *self.keys, *keys)

  def augment_weakly(self, images: tf.Tensor) -> tf.Tensor:
    """Returns weak views of other images than those of the batch.

    Args:
      images: uint8 or float32 [batch, height, width, channels].
    """
    return self.weak_augmentation(
      images, self.seed(random_seeds.Purpose.WEAK_VIEW)
    )

  def logits(
    self, views: tf.Tensor, weights: functional.ModelWeights | None = None
  ) -> tf.Tensor:
    """Returns the logits of a batch of views, in training mode.

    Dropout is the same whenever the same tensor is given, and another for each
    tensor.

    Args:
      views: uint8 or float32 [batch, height, width, channels], in 0..255.
      weights: By default the present ones.

    Returns:
      float32 [batch, classes].
    """
    return self._pass(self.model.train_logits, views, weights)

  def features(
    self, views: tf.Tensor, weights: functional.ModelWeights | None = None
  ) -> tf.Tensor:
    """Returns the inputs of the model's last layer, likewise.

    Args:
      views: As in `logits`.
      weights: Likewise.

    Returns:
      float32 [batch, features].

    Raises:
      ValueError: If the last layer of the model is not dense.
    """
    features = features_lib.require_features(self.model.features)
    return self._pass(features.train, views, weights)

  def mean(self, values: tf.Tensor) -> tf.Tensor:
    """Returns the mean over the images of the batch, each with its weight.

    Args:
      values: float32 [batch].

    Returns:
      A float32 scalar.
    """
    for weights in self.rows.weigh(self.image_weights):
      values *= weights
    return tf.reduce_mean(values)

  def cross_entropy(
    self,
    logits: tf.Tensor,
    targets: tf.Tensor | None = None,
  ) -> tf.Tensor:
    """Returns the mean cross-entropy over the images of the batch.

    The offset of the labels, if they have any, is added to the logits.

    Args:
      logits: float32 [batch, classes].
      targets: int32 [batch] or float32 [batch, classes]; by default the labels.

    Returns:
      A float32 scalar.
    """
    offset = self.labels.offset
    return losses.cross_entropy(
      logits,
      self.labels.labels if targets is None else targets,
      *self.rows.weigh(self.image_weights),
      offset=offset if isinstance(offset, tf.Tensor) else None,
    )

  def distance(self, weights: functional.ModelWeights) -> tf.Tensor:
    """Returns the squared Euclidean distance to other trainable weights.

    Args:
      weights: The others.

    Returns:
      A float32 scalar.
    """
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
    """The logits of the first views that passed through the model, if any."""
    logits = (
      each.outputs
      for each in self.passes
      if each.function is self.model.train_logits
    )
    return next(logits, None)

  def _pass(
    self,
    function: Callable[..., tf.Tensor],
    views: tf.Tensor,
    weights: functional.ModelWeights | None,
  ) -> tf.Tensor:
    """Returns the outputs of the model for views, which are computed once."""
    numbers = {}
    for each in self.passes:
      numbers.setdefault(id(each.views), len(numbers))
      if weights is None and each.is_of(function, views):
        return each.outputs
    outputs = function(
      self.weights if weights is None else weights,
      tf.cast(views, tf.float32),
      self.seed(
        random_seeds.Purpose.DROPOUT_MASK,
        numbers.get(id(views), len(numbers)),
      ),
      self.rows.num_real,
    )
    if weights is None:
      self.passes.append(_Pass(function, views, outputs))
    return outputs
