# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Training for a fixed number of steps per round (Zhang et al., eq. 2 to 4).

Server and clients take the same number of steps, however many images they have.
Images are shuffled anew in each epoch; each round starts a new epoch.
"""

from collections.abc import Callable, Mapping
import dataclasses
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.augment import augmentation
from tff_semifl.baselines.zhang2020 import running_statistics
from tff_semifl.core import client_work
from tff_semifl.core import federated_process
from tff_semifl.core import losses
from tff_semifl.core import pseudo_labels
from tff_semifl.core import rows as rows_lib
from tff_semifl.core import training_loop
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds


@dataclasses.dataclass(frozen=True, kw_only=True)
class LocalSteps:
  """The steps that every node takes in a round; round 0 has no steps."""

  classifier: functional.ImageClassifier
  num_steps: int
  batch_size: int
  optimizer: tff.learning.optimizers.Optimizer
  # The learning rate of a step, int32, counted from 0 at the start of the run.
  learning_rate_fn: Callable[[tf.Tensor], tf.Tensor]

  def last_learning_rate(self, round_num: tf.Tensor) -> tf.Tensor:
    """The learning rate of the last step of a round."""
    return self.learning_rate_fn(self._step(round_num, self.num_steps - 1))

  def _step(
    self, round_num: tf.Tensor, step_in_round: tf.Tensor | int
  ) -> tf.Tensor:
    return tf.maximum(round_num - 1, 0) * self.num_steps + step_in_round

  def train(
    self,
    weights: functional.ModelWeights,
    optimizer_state: Any,
    *,
    node: federated_process.Node,
    num_images: tf.Tensor,
    views_fn: Callable[[tf.Tensor], Any],
    loss_fn: Callable[..., training_loop.BatchOutput],
    state: Any = (),
  ) -> training_loop.TrainingResult:
    """Trains a node (server or client); a node without images takes no step.

    `views_fn` is (indices of images, int32 [number]) -> training examples, a
    structure of tensors. `loss_fn` is (`StepModel`, batch of examples, `state`)
    -> `BatchOutput`, with one forward pass in training mode.
    """
    indices, batch_size = self._draw_batches(node, num_images)
    statistics = running_statistics.get_statistics(
      self.optimizer, optimizer_state
    )
    num_trainable = len(weights.trainable)

    def loss(trained, batch, epoch, batch_num, state):
      del epoch  # All steps are one epoch.
      model = StepModel(
        self.classifier,
        functional.ModelWeights(
          trained[:num_trainable],
          trained[num_trainable:] if statistics else weights.non_trainable,
        ),
        node.seed(random_seeds.Purpose.DROPOUT_MASK, batch_num),
      )
      output = loss_fn(model, batch.examples, state)
      if not statistics:
        return output
      pull = running_statistics.pull(
        self.classifier, model.weights, model.images
      )
      return output._replace(loss=output.loss + pull)

    result = training_loop.TrainingLoop(
      optimizer=self.optimizer,
      num_epochs=1,
      batch_size=batch_size,
      # Augmenting all images of a round in large batches is faster.
      epoch_data_fn=lambda _: rows_lib.Rows(views_fn(indices)),
      loss_fn=loss,
      learning_rate_fn=lambda _, batch_num: self.learning_rate_fn(
        self._step(node.context.round_num, batch_num)
      ),
    ).train((*weights.trainable, *statistics), optimizer_state, state)
    return result._replace(trainable=result.trainable[:num_trainable])

  def _draw_batches(
    self, node: federated_process.Node, num_images: tf.Tensor
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """The indices of the images of a round, and the batch size.

    Each pass over the images drops an incomplete last batch. A node with fewer
    images than a batch uses all of its images in each step; in the authors'
    code such a node takes no step.
    """
    batch_size = tf.clip_by_value(num_images, 1, self.batch_size)
    batches_per_pass = tf.maximum(num_images // batch_size, 1)
    num_steps = tf.where(node.context.round_num > 0, self.num_steps, 0)

    def draw_pass(pass_num: tf.Tensor) -> tf.Tensor:
      order = tf.random.experimental.stateless_shuffle(
        tf.range(num_images),
        node.seed(random_seeds.Purpose.FIX_ORDER, pass_num),
      )
      return order[: batches_per_pass * batch_size]

    # At least one pass, because `tf.map_fn` cannot stack zero results.
    num_passes = tf.maximum(-(-num_steps // batches_per_pass), 1)
    passes = tf.map_fn(
      draw_pass,
      tf.range(num_passes),
      fn_output_signature=tf.TensorSpec([None], tf.int32),
    )
    return tf.reshape(passes, [-1])[: num_steps * batch_size], batch_size


@dataclasses.dataclass
class StepModel:
  """The model in one step, with the weights before the step."""

  classifier: functional.ImageClassifier
  weights: functional.ModelWeights
  dropout_seed: tf.Tensor
  images: tf.Tensor | None = None  # The images last passed in training mode.

  def train_logits(self, images: tf.Tensor) -> tf.Tensor:
    """Logits of uint8 images in training mode, float32 [batch, classes]."""
    self.images = tf.cast(images, tf.float32)
    return self.classifier.train_logits(
      self.weights, self.images, self.dropout_seed
    )

  def logits(self, images: tf.Tensor) -> tf.Tensor:
    """Logits in inference mode, float32 [batch, classes]."""
    return self.classifier.logits(self.weights, images)


def train_on_labels(
  steps: LocalSteps,
  weak_augmentation: augmentation.Augmentation,
  weights: functional.ModelWeights,
  data: Mapping[str, tf.Tensor],
  optimizer_state: Any,
  node: federated_process.Node,
) -> training_loop.TrainingResult:
  """Trains a node on labeled images by cross-entropy (equation 2)."""

  def loss(model, batch, state):
    del state
    images, labels = batch
    return training_loop.cross_entropy(model.train_logits(images), labels)

  return steps.train(
    weights,
    optimizer_state,
    node=node,
    num_images=tf.shape(data['label'])[0],
    views_fn=lambda indices: (
      weak_augmentation(
        tf.gather(data['image'], indices),
        node.seed(random_seeds.Purpose.WEAK_VIEW),
      ),
      tf.gather(data['label'], indices),
    ),
    loss_fn=loss,
  )


def train_labeled_client(
  steps: LocalSteps,
  weak_augmentation: augmentation.Augmentation,
  weights: functional.ModelWeights,
  context: federated_process.RoundContext,
  data: Mapping[str, tf.Tensor],
  optimizer_state: Any,
) -> client_work.LocalTraining:
  """The local training of a client with labels (Table 3, Table G.1)."""
  node = federated_process.Node(context, data['client_id'])
  return client_work.LocalTraining(
    train_on_labels(
      steps, weak_augmentation, weights, data, optimizer_state, node
    ),
    client_work.has_images(tf.shape(data['label'])[0]),
  )


def train_on_pseudo_labels(
  steps: LocalSteps,
  views_fn: Callable[[tf.Tensor, federated_process.Node], Any],
  logits_fn: Callable[[StepModel, Any], tuple[tf.Tensor, tf.Tensor]],
  confidence_threshold: float,
  weights: functional.ModelWeights,
  context: federated_process.RoundContext,
  data: Mapping[str, tf.Tensor],
  optimizer_state: Any,
) -> client_work.LocalTraining:
  """A client's local training, with new pseudo-labels in each step.

  Clients without confident images also have an update, because momentum and
  weight decay change the weights. `views_fn` is (images, node) -> augmented
  images, a structure of tensors; `logits_fn` is (`StepModel`, batch of
  augmented images) -> (logits for pseudo-labels, logits for the loss).
  """
  num_images = tf.shape(data['image'])[0]
  node = federated_process.Node(context, data['client_id'])

  def loss(model, batch, given):
    indices, batch_views = batch
    label_logits, logits = logits_fn(model, batch_views)
    labels = pseudo_labels.from_logits(tf.stop_gradient(label_logits))
    is_confident = labels.confidences >= confidence_threshold
    return training_loop.BatchOutput(
      losses.cross_entropy(logits, labels.labels, is_confident),
      training_loop.count_correct(logits, labels.labels, is_confident),
      tf.math.count_nonzero(is_confident, dtype=tf.float32),
      given.extend(
        pseudo_labels.give_at_once(indices, labels.labels, is_confident)
      ),
    )

  training = steps.train(
    weights,
    optimizer_state,
    node=node,
    num_images=num_images,
    views_fn=lambda indices: (
      indices,
      views_fn(tf.gather(data['image'], indices), node),
    ),
    loss_fn=loss,
    state=pseudo_labels.no_given_labels(),
  )
  return client_work.labeled_in_steps(training, num_images, training.state)
