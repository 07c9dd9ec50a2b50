# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A client's local training in SemiFL in NumPy, for the linear classifier.

TensorFlow draws the random numbers, with the documented seeds. All other
computations are implemented a second time.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tests import linear_reference
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds


class ClientRound(NamedTuple):
  """The results of a client's local training.

  `loss_sum`, `num_correct` and `num_examples` are over all epochs;
  `num_confident` is the size of the fix data set; `labels` are the
  pseudo-labels of all images.
  """

  weights: list[np.ndarray]
  loss_sum: float
  num_correct: int
  num_examples: int
  num_confident: int
  accumulator: list[np.ndarray]
  labels: np.ndarray


def draw_beta(number: int, seed: tf.Tensor, a: float) -> np.ndarray:
  """Draws float64 from Beta(a, a), by Gamma(a + 1) and a power."""
  gammas = tf.random.stateless_gamma([number, 2], seed, a + 1, dtype=tf.float64)
  uniforms = tf.random.stateless_uniform(
    [number, 2], random_draws.fold_in(seed, 0)
  )
  powers = (1 - uniforms.numpy().astype(np.float64)) ** (1 / a)
  values = gammas.numpy() * powers
  return values[:, 0] / values.sum(axis=1)


def _no_offset(logits: np.ndarray) -> tuple[float, float]:
  del logits  # Logits are unchanged.
  return 0.0, 0.0


def train_client(
  weights,
  images: np.ndarray,
  *,
  client_id: int,
  round_num: int,
  seed: int,
  learning_rate: float,
  num_epochs: int,
  batch_size: int,
  threshold: float,
  mix_loss_weight: float,
  weak=linear_reference.unchanged,
  strong=linear_reference.unchanged,
  accumulator=None,
  offsets_fn=_no_offset,
  dropout_rate: float = 0.0,
  true_labels: np.ndarray | None = None,
) -> ClientRound:
  """Labels and trains by Algorithm 1 of SemiFL.

  `true_labels` are the client's own, -1 for images without. `offsets_fn` maps
  the logits of all images to offsets: of logits for labels, and of logits in
  losses.
  """
  purpose = random_seeds.Purpose

  def stateless_seed(which, *keys):
    return random_seeds.stateless_seed(seed, which, round_num, client_id, *keys)

  def view(augmentation, of, which, *keys):
    return augmentation(tf.constant(of), stateless_seed(which, *keys)).numpy()

  def drop(of, *keys):
    return linear_reference.drop(
      of, dropout_rate, stateless_seed(purpose.DROPOUT_MASK, *keys)
    )

  logits = linear_reference.logits(
    weights, view(weak, images, purpose.PSEUDO_LABEL_VIEW)
  )
  label_offset, loss_offset = offsets_fn(logits)
  probabilities = linear_reference.softmax(logits + label_offset)
  labels = probabilities.argmax(axis=1)
  if true_labels is None:
    true_labels = np.full(len(images), -1)
  is_own = true_labels >= 0
  labels[is_own] = true_labels[is_own]
  confident = np.flatnonzero((probabilities.max(axis=1) >= threshold) | is_own)
  sgd = linear_reference.NumpySGD(weights, learning_rate, accumulator)
  loss_sum, num_correct, num_examples = 0.0, 0, 0
  for epoch in range(num_epochs):
    fix = linear_reference.order(
      confident, seed, purpose.FIX_ORDER, round_num, client_id, epoch
    )
    mix = tf.random.stateless_uniform(
      [len(confident)],
      stateless_seed(purpose.MIX_DRAW, epoch),
      minval=0,
      maxval=len(images),
      dtype=tf.int32,
    ).numpy()
    strong_views = view(strong, images[fix], purpose.STRONG_VIEW, epoch)
    weak_views = view(weak, images[fix], purpose.WEAK_VIEW, epoch)
    mix_views = view(weak, images[mix], purpose.MIX_VIEW, epoch)
    for batch_num, start in enumerate(range(0, len(fix), batch_size)):
      batch = slice(start, start + batch_size)
      fix_labels = labels[fix[batch]]
      mix_labels = labels[mix[batch]]
      (share,) = draw_beta(
        1, stateless_seed(purpose.MIXUP_COEFFICIENT, epoch, batch_num), 0.75
      )
      mixed = share * weak_views[batch].astype(np.float64)
      mixed += (1 - share) * mix_views[batch]
      # Strong augmentations and mixtures have separate dropout masks.
      strong_batch = drop(strong_views[batch], epoch, batch_num, 0)
      mixed = drop(mixed, epoch, batch_num, 1)
      strong_logits = linear_reference.logits(sgd.weights, strong_batch)
      num_correct += np.sum(strong_logits.argmax(axis=1) == fix_labels)
      loss = sgd.step(
        (1.0, strong_batch, fix_labels),
        (mix_loss_weight * share, mixed, fix_labels),
        (mix_loss_weight * (1 - share), mixed, mix_labels),
        offset=loss_offset,
      )
      loss_sum += loss * len(fix_labels)
      num_examples += len(fix_labels)
  return ClientRound(
    sgd.weights,
    loss_sum,
    num_correct,
    num_examples,
    np.sum(~is_own[confident]),
    sgd.accumulator,
    labels,
  )
