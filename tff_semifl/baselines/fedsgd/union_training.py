# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Steps on the images of several clients as one batch, as SemiFL's authors ran.

Batch normalization is over all images of the batch, all or none of them are
trained on, and the loss is one mean. In a real federation clients would have to
hand over their images, or the moments of each layer's input, forward and
backward.
"""

import dataclasses
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.augment import augmentation
from tff_semifl.baselines.fedsgd import epoch_cohorts
from tff_semifl.baselines.fedsgd import gathered_images
from tff_semifl.core import round_context
from tff_semifl.models import functional
from tff_semifl.randomness import draws
from tff_semifl.randomness import random_seeds
from tff_semifl.training import batch_losses
from tff_semifl.training import given_labels as given_labels_lib
from tff_semifl.training import pseudo_labels
from tff_semifl.training import training_loop


class LabeledImages(NamedTuple):
  """The server's images.

  Attributes:
    image: uint8 [images, height, width, channels], at least one.
    label: int32 [images].
  """

  image: tf.Tensor
  label: tf.Tensor


class Sums(NamedTuple):
  """Sums over the images that were trained on in all steps, float32 scalars.

  Attributes:
    loss: Cross-entropies.
    num_correct: Predictions equal to the label or pseudo-label.
    num_examples: Images.
  """

  loss: tf.Tensor
  num_correct: tf.Tensor
  num_examples: tf.Tensor


class EpochResult(NamedTuple):
  """The outcome of an epoch.

  Attributes:
    num_labeled: Number of pseudo-labels of clients' images, float32 scalar.
    num_confident: Number of confident ones, float32 scalar.
    given_labels: The pseudo-labels, with confident ones as those trained on.
      Indices are into the images of all clients.
  """

  trainable: tuple[tf.Tensor, ...]
  optimizer_state: Any
  server: Sums
  clients: Sums
  num_labeled: tf.Tensor
  num_confident: tf.Tensor
  given_labels: given_labels_lib.GivenLabels


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnionSteps:
  """The settings of steps on the images of several clients.

  Attributes:
    weak_augmentation: For the server's images and for pseudo-labels.
    strong_augmentation: For the clients' loss.
    clients_per_step: Clients in a step, if so many have images left; at least
      1.
    client_batch_size: Images of a client in a step; its last may be fewer.
    server_batch_size: Images of the server in a step.
    confidence_threshold: tau, in (0, 1]; inclusive.
  """

  classifier: functional.ImageClassifier
  weak_augmentation: augmentation.Augmentation
  strong_augmentation: augmentation.Augmentation
  optimizer: tff.learning.optimizers.Optimizer
  clients_per_step: int
  client_batch_size: int
  server_batch_size: int
  confidence_threshold: float

  def __post_init__(self) -> None:
    if self.clients_per_step < 1:
      raise ValueError(
        f'`clients_per_step` must be positive, found {self.clients_per_step}.'
      )


def train_epoch(
  steps: UnionSteps,
  weights: functional.ModelWeights,
  optimizer_state: Any,
  context: round_context.RoundContext,
  labeled: LabeledImages,
  unlabeled: gathered_images.ClientImages,
) -> EpochResult:
  """Takes steps until each image of each client was in one of them.

  A step has a batch of the server and one of each client of the step's cohort
  (`epoch_cohorts.draw`). The loss is the cross-entropy of the server's images,
  weakly augmented, plus that of the clients' images, strongly augmented, if any
  of these is confident; then all of them are trained on, with predictions for
  weak augmentation as labels. The three passes are normalized separately. The
  server's batches are whole, from one shuffled order after another; a client's
  are consecutive. The optimizer's state has the learning rate of all steps.
  Without clients' images there is no step.
  """
  purpose = random_seeds.Purpose

  node = round_context.Node(context)
  cohorts = epoch_cohorts.draw(
    -(-unlabeled.num_images // steps.client_batch_size),
    steps.clients_per_step,
    node.seed(purpose.COHORT),
  )

  def server_gradient(model: functional.ModelWeights, step: tf.Tensor):
    indices = draws.select_from_stream(
      tf.shape(labeled.label)[0],
      steps.server_batch_size,
      step,
      node.seed(purpose.SERVER_ORDER),
    )
    augmented = steps.weak_augmentation(
      tf.gather(labeled.image, indices),
      node.seed(purpose.SERVER_AUGMENTATION, step),
    )
    gradient, output = batch_losses.cross_entropy_gradient(
      steps.classifier,
      model,
      augmented,
      tf.gather(labeled.label, indices),
      node.seed(purpose.DROPOUT_MASK, step, 0),
    )
    return gradient, _sums(output, steps.server_batch_size)

  def union_gradient(model: functional.ModelWeights, step: tf.Tensor):
    indices = epoch_cohorts.find_images(
      cohorts, step, unlabeled.num_images, steps.client_batch_size
    )
    images = tf.gather(unlabeled.image, indices)
    weak = steps.weak_augmentation(images, node.seed(purpose.WEAK_VIEW, step))
    labels = pseudo_labels.from_logits(
      batch_losses.label_logits(steps.classifier, model, weak)
    )
    confident = pseudo_labels.is_confident(labels, steps.confidence_threshold)

    def train_on_all():
      gradient, output = batch_losses.cross_entropy_gradient(
        steps.classifier,
        model,
        steps.strong_augmentation(images, node.seed(purpose.STRONG_VIEW, step)),
        labels.labels,
        node.seed(purpose.DROPOUT_MASK, step, 1),
      )
      return gradient, _sums(output, tf.shape(indices)[0])

    gradient, sums = tf.cond(
      tf.reduce_any(confident),
      train_on_all,
      lambda: (
        tuple(tf.zeros_like(array) for array in model.trainable),
        nothing,
      ),
    )
    given = given_labels_lib.made_at_once(indices, labels.labels, confident)
    return gradient, sums, confident, given

  def take_step(step: tf.Tensor, result: EpochResult):
    model = weights._replace(trainable=result.trainable)
    of_server, server_sums = server_gradient(model, step)
    of_clients, client_sums, confident, given = union_gradient(model, step)
    optimizer_state, trainable = steps.optimizer.next(
      result.optimizer_state,
      result.trainable,
      tuple(a + b for a, b in zip(of_server, of_clients, strict=True)),
    )
    confident = tf.cast(confident, tf.float32)
    return step + 1, EpochResult(
      tuple(trainable),
      optimizer_state,
      tf.nest.map_structure(tf.add, result.server, server_sums),
      tf.nest.map_structure(tf.add, result.clients, client_sums),
      result.num_labeled + tf.reduce_sum(tf.ones_like(confident)),
      result.num_confident + tf.reduce_sum(confident),
      result.given_labels.extend(given),
    )

  zero = tf.constant(0.0)
  nothing = Sums(zero, zero, zero)
  _, result = tf.while_loop(
    lambda step, _: step < tf.shape(cohorts.clients)[0],
    take_step,
    (
      0,
      EpochResult(
        tuple(weights.trainable),
        optimizer_state,
        nothing,
        nothing,
        zero,
        zero,
        given_labels_lib.none(),
      ),
    ),
  )
  return result


def _sums(output: training_loop.BatchOutput, num_images: tf.Tensor) -> Sums:
  num_examples = tf.cast(num_images, tf.float32)
  return Sums(
    loss=num_examples * output.loss,
    num_correct=output.num_correct,
    num_examples=num_examples,
  )
