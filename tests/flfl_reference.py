# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A client's local training in (FL)^2 in NumPy, for the linear classifier.

Only orders of images are drawn by TensorFlow, with the documented seeds.
"""

import numpy as np

from tests import linear_reference
from tff_semifl.randomness import random_seeds

_CLASSES = np.eye(linear_reference.NUM_CLASSES)


def class_thresholds(probabilities: np.ndarray) -> np.ndarray:
  """The thresholds of classes, by equations 7 to 9 of (FL)^2."""
  mean_confidence = probabilities.max(axis=1).mean()
  shares = probabilities.mean(axis=0)
  return mean_confidence * shares / shares.max()


def gradients(weights, images: np.ndarray, errors: np.ndarray):
  """The gradients by kernel and bias, from the gradient by logits."""
  pixels = images.reshape(len(images), -1).astype(np.float64) / 255
  return [pixels.T @ errors, errors.sum(axis=0)]


def climb(weights, slopes, radius: float):
  """The weights after ASAM's ascent step, equation 12 of (FL)^2."""
  kernel, bias = weights
  sizes = [np.abs(kernel) + 0.01, np.ones_like(bias)]
  scaled = [s * g for s, g in zip(sizes, slopes, strict=True)]
  norm = np.sqrt(sum(np.sum(g**2) for g in scaled)) + 1e-16
  return [
    w + radius * s * g / norm
    for w, s, g in zip(weights, sizes, scaled, strict=True)
  ]


def consistency(weights, images, labels, is_sure, radius: float):
  """The loss of equation 13, and its gradient at the moved weights."""
  softmax, logits = linear_reference.softmax, linear_reference.logits
  here = softmax(logits(weights, images))
  if not is_sure.any():
    return 0.0, [np.zeros_like(w) for w in weights]
  errors = (here - _CLASSES[labels]) * is_sure[:, np.newaxis] / is_sure.sum()
  moved = climb(weights, gradients(weights, images, errors), radius)
  there = softmax(logits(moved, images))
  each = np.sum(here * (np.log(here) - np.log(there)), axis=1)
  errors = (there - here) * is_sure[:, np.newaxis] / len(images)
  return np.mean(each * is_sure), gradients(moved, images, errors)


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
  radius: float,
  sure: float,
):
  """Trains; returns weights, mean confidence and number of selected images."""
  sgd = linear_reference.NumpySGD(weights, learning_rate)
  probabilities = linear_reference.softmax(
    linear_reference.logits(weights, images)
  )
  labels, confidences = probabilities.argmax(axis=1), probabilities.max(axis=1)
  selected = np.flatnonzero(
    confidences >= class_thresholds(probabilities)[labels]
  )
  for epoch in range(num_epochs):
    order = linear_reference.order(
      selected,
      seed,
      random_seeds.Purpose.FIX_ORDER,
      round_num,
      client_id,
      epoch,
    )
    for start in range(0, len(order), batch_size):
      batch = order[start : start + batch_size]
      predicted = linear_reference.softmax(sgd.logits(images[batch]))
      errors = (predicted - _CLASSES[labels[batch]]) / len(batch)
      adapted = gradients(sgd.weights, images[batch], errors)
      _, consistent = consistency(
        sgd.weights,
        images[batch],
        labels[batch],
        confidences[batch] >= sure,
        radius,
      )
      sgd.move([a + c for a, c in zip(adapted, consistent, strict=True)])
  return sgd.weights, confidences.mean(), len(selected)
