# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A client's round of SemiFL in NumPy, for the linear classifier.

Only the random numbers are drawn by TensorFlow, with the seeds that the project
promises; everything that is done with them is written out again.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tests import linear_reference
from tff_semifl import random_seeds


class ClientRound(NamedTuple):
  """What came of a client's round.

  Attributes:
    weights: Trained kernel and bias.
    loss_sum: Sum of losses over all examples of all epochs.
    num_examples: Number of those examples.
    num_confident: Size of the fix data set.
  """

  weights: list[np.ndarray]
  loss_sum: float
  num_examples: int
  num_confident: int


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
) -> ClientRound:
  """Labels and trains as Algorithm 1 says, without augmentation."""
  purpose = random_seeds.Purpose

  def stateless_seed(which, *keys):
    return random_seeds.stateless_seed(seed, which, round_num, client_id, *keys)

  probabilities = linear_reference.softmax(
    linear_reference.logits(weights, images)
  )
  labels = probabilities.argmax(axis=1)
  confident = np.flatnonzero(probabilities.max(axis=1) >= threshold)
  sgd = linear_reference.NumpySGD(weights, learning_rate)
  loss_sum, num_examples = 0.0, 0
  for epoch in range(num_epochs):
    fix = tf.random.experimental.stateless_shuffle(
      confident, stateless_seed(purpose.FIX_ORDER, epoch)
    ).numpy()
    mix = tf.random.stateless_uniform(
      [len(confident)],
      stateless_seed(purpose.MIX_DRAW, epoch),
      minval=0,
      maxval=len(images),
      dtype=tf.int32,
    ).numpy()
    for batch_num, start in enumerate(range(0, len(fix), batch_size)):
      fix_batch = fix[start : start + batch_size]
      mix_batch = mix[start : start + batch_size]
      gamma = tf.random.stateless_gamma(
        [2],
        stateless_seed(purpose.MIXUP_COEFFICIENT, epoch, batch_num),
        alpha=0.75,
      ).numpy()
      share = gamma[0] / gamma.sum()
      mixed = share * images[fix_batch].astype(np.float64)
      mixed += (1 - share) * images[mix_batch]
      loss = sgd.step(
        (1.0, images[fix_batch], labels[fix_batch]),
        (mix_loss_weight * share, mixed, labels[fix_batch]),
        (mix_loss_weight * (1 - share), mixed, labels[mix_batch]),
      )
      loss_sum += loss * len(fix_batch)
      num_examples += len(fix_batch)
  return ClientRound(sgd.weights, loss_sum, num_examples, len(confident))
