# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A client's local training with labels for each batch, in NumPy.

The classifier needs an SGD in NumPy; the default is the linear classifier. Only
the random numbers are TensorFlow's.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tests import given_labels_reference
from tests import linear_reference
from tff_semifl.randomness import random_draws
from tff_semifl.randomness import random_seeds


class ClientRound(NamedTuple):
  """The results of a client's local training.

  `num_examples` images were trained on, counted in each epoch.
  """

  weights: list[np.ndarray]
  loss_sum: float
  num_correct: int
  num_confident: int
  num_labeled: int
  num_skipped: int
  num_examples: int
  labeled: list[given_labels_reference.LabeledBatch]


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
  weak=linear_reference.unchanged,
  strong=linear_reference.unchanged,
  create_sgd=linear_reference.NumpySGD,
  dropout_rate: float = 0.0,
  true_labels: np.ndarray | None = None,
) -> ClientRound:
  """Labels weak augmentations of a batch, and trains on strong ones.

  `true_labels` are the client's own, -1 for images without. They are no
  pseudo-labels.
  """
  if true_labels is None:
    true_labels = np.full(len(images), -1)
  purpose = random_seeds.Purpose
  sgd = create_sgd(weights, learning_rate)
  loss_sum = 0.0
  labeled = []
  num_correct = num_confident = num_labeled = num_skipped = num_examples = 0
  for epoch in range(num_epochs):

    def stateless_seed(which, epoch=epoch):
      return random_seeds.stateless_seed(
        seed, which, round_num, client_id, epoch
      )

    order = linear_reference.order(
      len(images), seed, purpose.FIX_ORDER, round_num, client_id, epoch
    )
    in_order = tf.constant(images[order])
    weak_views = weak(in_order, stateless_seed(purpose.WEAK_VIEW)).numpy()
    strong_views = strong(in_order, stateless_seed(purpose.STRONG_VIEW)).numpy()
    for batch_num, start in enumerate(range(0, len(images), batch_size)):
      batch = slice(start, start + batch_size)
      probabilities = linear_reference.softmax(sgd.logits(weak_views[batch]))
      own = true_labels[order[batch]]
      is_pseudo = own < 0
      num_labeled += np.sum(is_pseudo)
      labels = np.where(is_pseudo, probabilities.argmax(axis=1), own)
      keep = (probabilities.max(axis=1) >= threshold) | ~is_pseudo
      labeled.append(
        given_labels_reference.LabeledBatch(
          order[batch][is_pseudo], labels[is_pseudo], keep[is_pseudo]
        )
      )
      if not keep.any():
        num_skipped += 1
        continue
      labels = labels[keep]
      views = linear_reference.drop(
        strong_views[batch][keep],
        dropout_rate,
        random_draws.fold_in(
          random_draws.fold_in(stateless_seed(purpose.DROPOUT_MASK), batch_num),
          0,
        ),
      )
      predictions = sgd.logits(views).argmax(axis=1)
      num_correct += np.sum(predictions == labels)
      loss_sum += sgd.step((1.0, views, labels)) * len(labels)
      num_confident += np.sum(keep & is_pseudo)
      num_examples += len(labels)
  return ClientRound(
    sgd.weights,
    loss_sum,
    num_correct,
    num_confident,
    num_labeled,
    num_skipped,
    num_examples,
    labeled,
  )
