# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Labels the images of a client by a client method."""

from collections.abc import Callable
import dataclasses
import functools
from typing import Any, NamedTuple

import tensorflow as tf

from tff_semifl.augment import augmentation
from tff_semifl.core import federated_process
from tff_semifl.core import hook_arguments
from tff_semifl.core import method as method_lib
from tff_semifl.core import pseudo_labels
from tff_semifl.core import rows as rows_lib
from tff_semifl.models import features as features_lib
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds

# The size affects only memory and speed: inference has no batch statistics.
INFERENCE_BATCH_SIZE = 250


class Images(NamedTuple):
  """A client's images and their labels, one row per image.

  Attributes:
    image: uint8 [images, height, width, channels].
    index: int32 [images], the position among the client's images.
    true_label: int32 [images], -1 for an image without a label; None in systems
      whose clients have no labels.
    label: The `PseudoLabels` of the client method; None before labeling.
    weight: float32 [images], the weights of images in the loss; None for equal
      weights.
    is_selected: bool [images], used in training; None before labeling.
  """

  image: tf.Tensor
  index: tf.Tensor
  true_label: tf.Tensor | None = None
  label: pseudo_labels.PseudoLabels | Any = None
  weight: tf.Tensor | None = None
  is_selected: tf.Tensor | Any = None


class AugmentedImages(NamedTuple):
  """The augmented images of an epoch, in the order of training."""

  images: Images
  weak: tf.Tensor
  strong: tf.Tensor
  mix: hook_arguments.Mix | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Labeler:
  """Labels a client's images in a round, given the received weights."""

  model: functional.ImageClassifier
  weak_augmentation: augmentation.Augmentation
  method: method_lib.Method
  received: functional.ModelWeights
  node: federated_process.Node
  memory: Any = ()

  def context(self, rows: rows_lib.Rows) -> hook_arguments.ClientContext:
    """The `ClientContext` for labeling all images, weakly augmented."""
    model = self.model
    views = rows.replace(
      self.weak_augmentation(
        rows.examples.image,
        self.node.seed(random_seeds.Purpose.PSEUDO_LABEL_VIEW),
      )
    )

    def infer_features(weights: functional.ModelWeights) -> tf.Tensor:
      features = features_lib.require_features(model.features)
      return _infer(views, features.infer, features.size, weights)

    messages = self.node.context.guidance or {}
    return hook_arguments.ClientContext(
      images=rows.examples.image,
      guidance=messages.get(method_lib.OWN),
      part_guidance=messages,
      received=self.received,
      weights=self.received,
      num_classes=model.num_classes,
      logits_fn=functools.partial(
        _infer, views, model.logits, model.num_classes
      ),
      features_fn=infer_features,
      true_labels=rows.examples.true_label,
      memory=self.memory,
      learning_rate=self.node.context.learning_rate,
    )

  def context_of_batch(
    self,
    context: hook_arguments.ClientContext,
    batch: rows_lib.Rows,
    weights: functional.ModelWeights,
  ) -> hook_arguments.ClientContext:
    """The `ClientContext` for labeling a batch of `AugmentedImages`.

    The model labels the weakly augmented images, in training mode without
    dropout.
    """
    model, augmented = self.model, batch.examples

    def infer(function: Callable[..., tf.Tensor], weights: Any):
      return function(
        weights, tf.cast(augmented.weak, tf.float32), num_real=batch.num_real
      )

    return dataclasses.replace(
      context,
      images=augmented.weak,
      weights=weights,
      logits_fn=functools.partial(infer, model.batch_logits),
      features_fn=lambda weights: infer(
        features_lib.require_features(model.features).batch, weights
      ),
      true_labels=augmented.images.true_label,
    )

  def label(
    self, context: hook_arguments.ClientContext, rows: rows_lib.Rows, state: Any
  ) -> tuple[pseudo_labels.PseudoLabels, Images, pseudo_labels.GivenLabels]:
    """Labels the images of `context`.

    `rows` are the same images, as `Images`. Returns the labels; the `Images`
    with label, weight and selection; and `GivenLabels` for measurements.
    """
    hook = self.method.label
    result = hook(context, state)
    if not isinstance(result, tuple | list) or len(result) != 2:
      raise method_lib.wrong_result(
        hook, 'a pair, labels and selection', result
      )
    labels, selection = result
    if not isinstance(labels, pseudo_labels.PseudoLabels):
      wanted = (
        'PseudoLabels, int32 [images], or probabilities, float32 [images,'
        ' classes]'
      )
      labels = method_lib.to_tensor(hook, wanted, labels)
      is_soft = labels.dtype == tf.float32 and labels.shape.rank == 2
      is_hard = labels.dtype.is_integer and labels.shape.rank == 1
      if not is_soft and not is_hard:
        raise method_lib.wrong_result(hook, wanted, labels)
      labels = pseudo_labels.complete(labels, context.num_classes)
    wanted = 'labels with bool or float32 [images]'
    selection = method_lib.to_tensor(hook, wanted, selection)
    is_pseudo = self.find_pseudo(rows.examples)
    if (
      selection.dtype not in (tf.bool, tf.float32) or selection.shape.rank != 1
    ):
      raise method_lib.wrong_result(hook, wanted, selection)
    if is_pseudo is not True:
      labels = pseudo_labels.with_true_labels(labels, rows.examples.true_label)
      selection = tf.where(is_pseudo, selection, tf.cast(1, selection.dtype))
    weight = None if selection.dtype == tf.bool else selection
    is_selected = selection if weight is None else selection > 0
    images = rows.examples._replace(
      label=labels.as_rows(), weight=weight, is_selected=is_selected
    )
    given = pseudo_labels.give_at_once(
      images.index, labels.labels, is_selected, rows.is_real & is_pseudo
    )
    return labels, images, given

  def find_pseudo(self, images: Images) -> tf.Tensor | bool:
    """Whether images get pseudo-labels, bool [images]; True for all.

    Images with a true label keep it, unless the method itself uses true labels.
    """
    if images.true_label is None or self.method.clients_have_labels:
      return True
    return tf.less(images.true_label, 0)


def _infer(
  views: rows_lib.Rows,
  function: Callable[..., tf.Tensor],
  width: int,
  weights: functional.ModelWeights,
) -> tf.Tensor:
  return views.map_batches(
    lambda batch: function(weights, tf.cast(batch, tf.float32)),
    width=width,
    size=INFERENCE_BATCH_SIZE,
  )
