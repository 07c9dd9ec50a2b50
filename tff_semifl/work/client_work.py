# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What a client does in a round of SemiFL: label once, then fix and mix.

SemiFL (NeurIPS 2022), section 3.3 and Algorithm 1, A.6 to A.11: the images
that the received model is sure of make the fix data set, of which strong views
are trained on; just as many images drawn from all of the client's, sure or
not, make the mix data set, with which the fix images are mixed.
"""

import collections
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import losses
from tff_semifl import optimizers
from tff_semifl import pseudo_labels
from tff_semifl import random_seeds
from tff_semifl.augment import augmentation
from tff_semifl.augment import mixup
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.work import pseudo_labelling
from tff_semifl.work import round_context
from tff_semifl.work import training_loop


class ClientSums(NamedTuple):
  """What clients report, in a form that can be added up; float32 scalars.

  Attributes:
    loss: Sum of losses of all training examples.
    num_correct: Training examples whose strong view the model that was being
      trained gave its pseudo-label.
    num_examples: Training examples, each counted once an epoch.
    num_images: Images at the client.
    num_confident: Those of them whose pseudo-label was trained on.
    num_participating: 1 if the client's update counts, else 0.
  """

  loss: tf.Tensor
  num_correct: tf.Tensor
  num_examples: tf.Tensor
  num_images: tf.Tensor
  num_confident: tf.Tensor
  num_participating: tf.Tensor


def build_fix_mix_client_work(
  classifier: functional.ImageClassifier,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
  optimizer: tff.learning.optimizers.Optimizer,
  num_epochs: int,
  batch_size: int,
  confidence_threshold: float,
  mixup_concentration: float,
  mix_loss_weight: float,
) -> tff.learning.templates.ClientWorkProcess:
  """Builds the client work of SemiFL.

  With S for the empty state, W for model weights, R for `RoundContext`, U for
  chunks of `pipelines.client_type`:

      next: (<S@SERVER, {<W, R>}@CLIENTS, {U*}@CLIENTS>
             -> <state=S@SERVER,
                 result={ClientResult(update, update_weight)}@CLIENTS,
                 measurements=<loss, accuracy, label_ratio,
                              num_participating>@SERVER>)

  The update is the received weights minus the trained ones. Its weight is 1,
  or 0 for a client that has no confident image or whose update is not finite;
  such an update is zero (A.11, A.12).

  Args:
    classifier: The model.
    weak_augmentation: For pseudo-labels and for mixing.
    strong_augmentation: For the fix loss.
    optimizer: Starts afresh each round (D5), with the round's learning rate.
    num_epochs: Epochs in each round, E in the paper.
    batch_size: Images in a step; the last of an epoch may have fewer.
    confidence_threshold: In (0, 1], tau in the paper; inclusive.
    mixup_concentration: Both parameters of the Beta distribution, a in the
      paper.
    mix_loss_weight: Factor on the mix loss, lambda in the paper. 0 gives
      training on the fix data set alone.
  """
  weights_type = classifier.weights_type
  data_type = pipelines.client_type(classifier.image_shape)
  received_type = tff.types.to_type(
    (weights_type, round_context.ROUND_CONTEXT_TYPE)
  )

  @tff.tensorflow.computation(received_type, data_type)
  def train(received: Any, dataset: tf.data.Dataset):
    weights, context = received
    data = pipelines.concatenate_chunks(dataset)
    images, client_id = data['image'], data['client_id']
    num_images = tf.shape(images)[0]
    labels = pseudo_labelling.label_images(
      classifier,
      weights,
      images,
      context=context,
      client_id=client_id,
      weak_augmentation=weak_augmentation,
    )
    confident = tf.where(
      pseudo_labels.is_confident(labels, confidence_threshold)
    )[:, 0]
    num_confident = tf.shape(confident)[0]

    def seed(purpose: random_seeds.Purpose, *keys: tf.Tensor) -> tf.Tensor:
      return random_seeds.stateless_seed(
        context.seed, purpose, context.round_num, client_id, *keys
      )

    def epoch_data(epoch: tf.Tensor):
      purpose = random_seeds.Purpose
      fix = tf.random.experimental.stateless_shuffle(
        confident, seed(purpose.FIX_ORDER, epoch)
      )
      # Drawn afresh each epoch, with replacement, from all images (D13).
      mix = tf.random.stateless_uniform(
        [num_confident],
        seed(purpose.MIX_DRAW, epoch),
        minval=0,
        maxval=tf.maximum(num_images, 1),
        dtype=tf.int32,
      )
      fix_images = tf.gather(images, fix)
      mix_images = tf.gather(images, mix)
      return (
        strong_augmentation(fix_images, seed(purpose.STRONG_VIEW, epoch)),
        weak_augmentation(fix_images, seed(purpose.WEAK_VIEW, epoch)),
        weak_augmentation(mix_images, seed(purpose.MIX_VIEW, epoch)),
        tf.gather(labels.labels, fix),
        tf.gather(labels.labels, mix),
      )

    def loss(trainable, batch, epoch, batch_num):
      *views, fix_labels, mix_labels = batch
      strong, weak, mix = (tf.cast(view, tf.float32) for view in views)
      model_weights = functional.ModelWeights(trainable, weights.non_trainable)
      # Two passes, each normalised by the statistics of its own batch (A.8).
      strong_logits = classifier.train_logits(model_weights, strong)
      fix_loss = losses.cross_entropy(strong_logits, fix_labels)
      coefficient = mixup.sample_coefficient(
        seed(random_seeds.Purpose.MIXUP_COEFFICIENT, epoch, batch_num),
        concentration=mixup_concentration,
      )
      mix_loss = losses.mix_loss(
        classifier.train_logits(
          model_weights, mixup.mix(weak, mix, coefficient)
        ),
        fix_labels,
        mix_labels,
        coefficient,
      )
      return training_loop.BatchOutput(
        fix_loss + mix_loss_weight * mix_loss,
        # The authors' logs compare a weak view, at the cost of one more pass
        # (A.14).
        training_loop.count_correct(strong_logits, fix_labels),
      )

    optimizer_state = optimizer.initialize(
      [tf.TensorSpec(w.shape, w.dtype) for w in weights.trainable]
    )
    result = training_loop.train(
      weights.trainable,
      optimizer.set_hparams(
        optimizer_state,
        {optimizers.LEARNING_RATE_KEY: context.learning_rate},
      ),
      optimizer=optimizer,
      num_epochs=num_epochs,
      batch_size=batch_size,
      epoch_data_fn=epoch_data,
      loss_fn=loss,
    )
    update = [
      received - trained
      for received, trained in zip(
        weights.trainable, result.trainable, strict=True
      )
    ]
    is_finite = tf.reduce_all(
      [tf.reduce_all(tf.math.is_finite(array)) for array in update]
    )
    counts = tf.logical_and(is_finite, num_confident > 0)
    # Zero times infinity is not zero: choose, do not multiply.
    update = tuple(
      tf.where(counts, array, tf.zeros_like(array)) for array in update
    )
    weight = tf.cast(counts, tf.float32)

    def if_finite(value: tf.Tensor) -> tf.Tensor:
      return tf.where(is_finite, tf.cast(value, tf.float32), 0.0)

    sums = ClientSums(
      loss=if_finite(result.sums.loss),
      num_correct=if_finite(result.sums.num_correct),
      num_examples=if_finite(result.sums.num_examples),
      num_images=if_finite(num_images),
      num_confident=if_finite(num_confident),
      num_participating=weight,
    )
    return tff.learning.templates.ClientResult(update, weight), sums

  return _build_client_work(train)


def _build_client_work(
  train: tff.Computation,
) -> tff.learning.templates.ClientWorkProcess:
  """Places `train`, (received, data) -> (ClientResult, ClientSums)."""
  received_type, data_type = train.type_signature.parameter
  sums_type = train.type_signature.result[1]

  @tff.tensorflow.computation(sums_type)
  def summarize(sums: ClientSums):
    return collections.OrderedDict(
      loss=tf.math.divide_no_nan(sums.loss, sums.num_examples),
      accuracy=tf.math.divide_no_nan(sums.num_correct, sums.num_examples),
      label_ratio=tf.math.divide_no_nan(sums.num_confident, sums.num_images),
      num_participating=sums.num_participating,
    )

  @tff.federated_computation
  def initialize_fn():
    return tff.federated_value((), tff.SERVER)

  @tff.federated_computation(
    initialize_fn.type_signature.result,
    tff.FederatedType(received_type, tff.CLIENTS),
    tff.FederatedType(data_type, tff.CLIENTS),
  )
  def next_fn(state, received, data):
    result, sums = tff.federated_map(train, (received, data))
    metrics = tff.federated_map(summarize, tff.federated_sum(sums))
    return tff.templates.MeasuredProcessOutput(state, result, metrics)

  return tff.learning.templates.ClientWorkProcess(initialize_fn, next_fn)
