# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Contexts of clients and of a server, for tests of method hooks."""

from typing import Any

import numpy as np
import tensorflow as tf

from tests import linear_reference
from tff_semifl.core import hook_arguments
from tff_semifl.core import pseudo_labels


def of_labels(
  labels: pseudo_labels.PseudoLabels | None = None,
  *,
  guidance: Any = None,
  part_guidance: Any = (),
  logits: Any = None,
  true_labels: Any = None,
  num_trained_on: int = 0,
) -> hook_arguments.ClientContext:
  """The context of a client that has labeled its images.

  `logits`, float32 [images, classes], are the outputs of any model.
  """
  weights = linear_reference.create_classifier().initial_weights
  return hook_arguments.ClientContext(
    images=tf.zeros([0, *linear_reference.IMAGE_SHAPE], tf.uint8),
    guidance=guidance,
    part_guidance=dict(part_guidance),
    received=weights,
    weights=weights,
    num_classes=linear_reference.NUM_CLASSES,
    logits_fn=lambda weights: tf.constant(logits),
    features_fn=lambda weights: tf.constant(logits),
    true_labels=true_labels,
    labels=labels,
    num_trained_on=tf.constant(num_trained_on),
  )


def create_server(
  data: tf.data.Dataset | None = None,
  *,
  model: Any = None,
  weights: Any = None,
  seed: int = 7,
  round_num: int = 1,
) -> hook_arguments.Server:
  """A server's context, by default with a linear model and initial weights."""
  model = model or linear_reference.create_classifier()
  return hook_arguments.Server(
    model=model,
    seed=tf.constant(seed),
    round_num=tf.constant(round_num),
    weights=weights or model.initial_weights,
    data=data,
  )


def with_images(images: np.ndarray, labels: Any, **options: Any):
  """A server's context with some labeled images."""
  return create_server(
    linear_reference.labeled_dataset(images, labels), **options
  )
