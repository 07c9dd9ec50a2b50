# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Labels for a network: by a linear layer, later by an earlier network.

Training has four phases: the first has two fifths of the rounds, each later
phase one fifth. In the first phase a linear layer labels clients' images. In
each later phase the teacher labels: the network of the beginning of the phase.
Layer and teacher give log p(image | class), from which a client finds its class
shares and labels.

In later phases the layer still labels if clients have no class shares of their
own, if fewer than `choice.LEAST_LABELS` labels can be held out, or if the layer
predicted more of these correctly than the teacher.

No network trains on the server's labels. These labels therefore show if
learning without labels has exchanged two classes. After the phase, both classes
are exchanged in the layer and in the teacher (`find_exchange`).

Class biases b keep the teacher's mean class probabilities at the class shares m
of all clients. With class shares pi_k of client k:

    p(c | x) ~ p_teacher(c | x) exp(b_c) pi_kc / m_c
    b <- b + step (m - mean probabilities of the cohort) / m
"""

from collections.abc import Mapping
from typing import NamedTuple

import tensorflow as tf

from tff_semifl.algorithms import gradient_steps
from tff_semifl.algorithms.client_priors import choice
from tff_semifl.algorithms.client_priors import linear_classifiers
from tff_semifl.algorithms.client_priors import server_labels
from tff_semifl.algorithms.client_priors import state as state_lib
from tff_semifl.core import hook_arguments
from tff_semifl.data import pipelines
from tff_semifl.label_shift import class_shares
from tff_semifl.models import functional

# The first phase has two parts of the rounds, each later phase one.
_PARTS = 5
# Images from which a client finds its class shares in a round.
_NUM_LABELED = 100
# A cohort's class shares differ from those of all clients, so that steps of the
# biases are small.
_BIAS_STEP = 0.1
# If a network takes all images of two classes for one of them, the gain is near
# 0. The margin keeps a few images from causing an exchange.
_LEAST_GAIN = 0.25


class Kept(NamedTuple):
  """What the server keeps: client priors, and the teacher with its biases."""

  priors: state_lib.State
  teacher: functional.ModelWeights
  classes: tf.Tensor  # int32 [classes], the teacher's output of each class.
  bias: tf.Tensor  # float32 [classes]
  is_network: tf.Tensor  # bool scalar, whether the teacher labels.


class Message(NamedTuple):
  """What clients receive to label, float32 unless noted."""

  layer: state_lib.Labeler
  teacher: functional.ModelWeights
  classes: tf.Tensor  # int32 [classes], the teacher's output of each class.
  bias: tf.Tensor  # [classes]
  is_network: tf.Tensor  # bool scalar, whether the teacher labels.


class Sums(NamedTuple):
  """A client's sums over the images that the teacher labels, [classes]."""

  labels: tf.Tensor
  expected: tf.Tensor  # The expected `labels`, with the class shares m.


def find_phase(round_num: tf.Tensor, total_rounds: int) -> tf.Tensor:
  """The phase of a round, int32 scalars; rounds begin at 1, phases at 0."""
  return tf.maximum((round_num - 1) * _PARTS // total_rounds - 1, 0)


def first_round(phase: tf.Tensor, total_rounds: int) -> tf.Tensor:
  """The first round of a phase, an int32 scalar."""
  part = tf.where(phase > 0, phase + 1, 0)
  return -(-part * total_rounds // _PARTS) + 1


def start(priors: state_lib.State, model: functional.ImageClassifier) -> Kept:
  """What the server keeps before round 0."""
  return Kept(
    priors,
    tf.nest.map_structure(tf.constant, model.initial_weights),
    tf.range(model.num_classes),
    tf.zeros([model.num_classes]),
    tf.constant(False),
  )


def tell(kept: Kept) -> Message:
  """The message to clients."""
  layer = state_lib.Labeler(*kept.priors.labeler)
  return Message(
    tf.nest.map_structure(lambda each: tf.cast(each, tf.float32), layer),
    *kept[1:],
  )


def _is_better(
  logits: tf.Tensor, labels: tf.Tensor, layer: state_lib.Labeler
) -> tf.Tensor:
  """Whether a network labels in place of the layer, a bool scalar."""
  predicted = tf.argmax(logits, axis=-1, output_type=tf.int32)
  targets = tf.one_hot(labels, logits.shape[-1])
  # `layer.num_right` counts labels that cross-validation holds out.
  num_right = tf.math.count_nonzero(
    tf.equal(predicted, labels) & (server_labels.assign(targets) >= 0)
  )
  # Without shares of its own, a client cannot correct the network.
  has_own_shares = tf.reduce_sum(layer.alpha) < 0.99 * choice.WITHOUT_OWN_SHARES
  return has_own_shares & (tf.cast(num_right, tf.float64) >= layer.num_right)


def find_exchange(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
  """Finds the index of a network's output for each class, int32 [classes].

  With r(c, d), the mean of p(d | x) over images x of class c, the classes c, d
  are exchanged if

    r(c, d) + r(d, c) - r(c, c) - r(d, d) > `_LEAST_GAIN`

  Only the pair with the largest left side is exchanged. Both classes need at
  least two labels: a single image may look like another class by chance.

  Args:
    logits: float32 [labels, classes], of a network that has not been trained on
      `labels`.
    labels: int32 [labels].
  """
  num_classes = logits.shape[-1]
  targets = tf.one_hot(labels, num_classes)
  counts = tf.reduce_sum(targets, axis=0)
  means = tf.math.divide_no_nan(
    tf.matmul(targets, tf.nn.softmax(logits), transpose_a=True),
    counts[:, tf.newaxis],
  )
  other = means - tf.linalg.diag_part(means)[:, tf.newaxis]
  has_two = counts >= 2
  gain = tf.where(
    has_two & has_two[:, tf.newaxis], other + tf.transpose(other), 0
  )
  # The diagonal is the largest unless an exchange gains more.
  gain = tf.linalg.set_diag(gain, tf.fill([num_classes], _LEAST_GAIN))
  best = tf.argmax(tf.reshape(gain, [-1]), output_type=tf.int32)
  pair = tf.stack([best // num_classes, best % num_classes])
  return tf.tensor_scatter_nd_update(
    tf.range(num_classes), pair[:, tf.newaxis], pair[::-1]
  )


def update(
  kept: Kept, sums: Sums, server: hook_arguments.Server, ends_phase: tf.Tensor
) -> Kept:
  """Takes a step of the biases; after a phase, replaces the teacher.

  The server's labels decide whether the teacher labels in the next phase.
  `Labeler.num_right` is not counted anew after an exchange of the layer.
  """
  step = _BIAS_STEP * tf.math.divide_no_nan(
    sums.expected - sums.labels, sums.expected
  )

  def replace_teacher() -> Kept:
    labeled = pipelines.concatenate_chunks(server.data)
    labels = labeled['label']
    logits = server.model.logits(
      server.weights, tf.cast(labeled['image'], tf.float32)
    )
    classes = find_exchange(logits, labels)
    layer = state_lib.Labeler(*kept.priors.labeler)
    # The layer already has an exchange that was found after the last phase.
    is_new = tf.reduce_any(tf.not_equal(classes, kept.classes))
    weights = tf.where(
      is_new, tf.gather(layer.weights, classes, axis=-1), layer.weights
    )
    # An exchanged output was trained with the other class's share.
    log_shares = tf.cast(tf.math.log(layer.alpha), tf.float32)
    return Kept(
      kept.priors._replace(labeler=layer._replace(weights=weights)),
      server.weights,
      classes,
      log_shares - tf.gather(log_shares, classes),
      _is_better(tf.gather(logits, classes, axis=-1), labels, layer),
    )

  return tf.cond(
    ends_phase,
    replace_teacher,
    lambda: kept._replace(bias=kept.bias + step),
  )


def label(
  message: Message,
  model: functional.ImageClassifier,
  data: Mapping[str, tf.Tensor],
  batch: tf.Tensor,
  seed: tf.Tensor,
) -> tuple[tf.Tensor, Sums]:
  """The labels of a batch, float32 [batch, classes], and sums for the server.

  Args:
    data: All images of the client, and `features` if the layer needs features.
    batch: int32 [batch], positions of the batch's images in `data`.
    seed: int32 [2], chooses images for the class shares if the teacher labels.
  """
  alpha = message.layer.alpha
  shares = alpha / tf.reduce_sum(alpha)

  def by_layer():
    x = tf.cast(data.get('features', data['image']), tf.float32)
    size = message.layer.weights.shape[0] - 1
    padded = linear_classifiers.with_ones(tf.reshape(x, [-1, size]))
    found = class_shares.find(
      class_shares.read(padded @ message.layer.weights), alpha
    )
    nothing = tf.zeros_like(alpha)
    return tf.gather(found.posteriors, batch), Sums(nothing, nothing)

  def by_network():
    labeled = gradient_steps.extend_batch(
      batch, tf.shape(data['image'])[0], _NUM_LABELED, seed
    )
    images = tf.cast(tf.gather(data['image'], labeled), tf.float32)
    logits = tf.nn.log_softmax(model.logits(message.teacher, images))
    logits = tf.gather(logits, message.classes, axis=-1)
    logits += message.bias - tf.math.log(shares)
    posteriors = class_shares.find(class_shares.read(logits), alpha).posteriors
    labels = tf.reduce_sum(posteriors, axis=0)
    return posteriors[: tf.shape(batch)[0]], Sums(
      labels, tf.reduce_sum(labels) * shares
    )

  return tf.cond(message.is_network, by_network, by_layer)
