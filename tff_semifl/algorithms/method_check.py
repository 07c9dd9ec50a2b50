# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Checks a user's method for mistakes that raise no error.

The checks run the method on images of noise, with weights near the initial
weights. Methods of this package are not checked, but have tests.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from tff_semifl.core import client_update
from tff_semifl.core import federated_process
from tff_semifl.core import hook_arguments
from tff_semifl.core import labeling
from tff_semifl.core import method as method_lib
from tff_semifl.core import rows as rows_lib
from tff_semifl.core import training_loop
from tff_semifl.data import sources
from tff_semifl.models import functional
from tff_semifl.randomness import portable_draws
from tff_semifl.randomness import random_draws

_NUM_IMAGES, _NUM_ROWS = 3, 5
_LABEL_TOLERANCE = 1e-2
_LOSS_TOLERANCE = 1e-3


def check_kept(
  method: method_lib.Method, model: functional.ImageClassifier
) -> None:
  """Raises a TypeError if a state at the server or clients is not numeric.

  The memory of clients, if the method keeps one, must not be empty.
  """
  hooks = [each.init_guidance for each in method.guides.values()]
  if method.keeps_memory:
    hooks.append(method.init_memory)
  for hook in hooks:
    kept = hook(model)
    arrays = tf.nest.flatten(kept)
    if any(np.asarray(each).dtype.kind not in 'biufc' for each in arrays) or (
      hook == method.init_memory and not arrays
    ):
      raise method_lib.wrong_result(hook, method_lib.NUMBERS, kept)


def check_labels(
  method: method_lib.Method, training: client_update.Training
) -> None:
  """Raises a TypeError if soft labels are logits instead of probabilities."""

  @tf.function(autograph=False)
  def compute() -> tf.Tensor:
    with random_draws.drawing_by(portable_draws):
      labeler, images = _create_client(method, training)
      rows = rows_lib.Rows(images)
      context = labeler.context(rows)
      labels, _, _ = labeler.label(context, rows, method.init_state(context))
      return labels.probabilities

  try:
    labels = compute().numpy()
  except tf.errors.OpError:
    # A method may fail for noise but work for real images; training reports
    # errors.
    return
  # Labels may be NaN, because a method may lack statistics before round 1.
  if np.isfinite(labels).all() and (
    labels.min() < -_LABEL_TOLERANCE
    or labels.sum(-1).max() > 1 + _LABEL_TOLERANCE
  ):
    raise method_lib.wrong_result(
      method.label,
      'classes or probabilities of all classes, which tf.nn.softmax makes of'
      ' logits',
      'numbers below 0, or that add up to more than 1',
    )


def check_padding(
  method: method_lib.Method, training: client_update.Training
) -> None:
  """Raises a ValueError for a method whose loss depends on padding."""
  training = dataclasses.replace(
    training,
    weak_augmentation=lambda images, seed: images,
    strong_augmentation=lambda images, seed: images,
    num_epochs=1,
    batch_size=_NUM_ROWS,
    jit_compile=False,
  )

  @tf.function(autograph=False)
  def compute() -> list[tf.Tensor]:
    with random_draws.drawing_by(portable_draws):
      labeler, images = _create_client(method, training)
      real = rows_lib.Rows(rows_lib.take(images, 0, _NUM_IMAGES))
      context = labeler.context(real)
      state = method.init_state(context)
      if method.relabel == 'round':
        labels, labeled, _ = labeler.label(context, real, state)
        context = dataclasses.replace(context, labels=labels)
        # Padding has the labels of the last image.
        repeated = tf.minimum(tf.range(_NUM_ROWS), _NUM_IMAGES - 1)
        images = rows_lib.gather(labeled, repeated)._replace(
          image=images.image, index=images.index
        )
      optimizer_state = training_loop.initial_optimizer_state(
        training.optimizer, training.model.initial_weights.trainable
      )
      return [
        client_update.Steps(training, labeler, context, rows)
        .take(optimizer_state, state)
        .sums.loss
        for rows in (
          rows_lib.Rows(rows_lib.take(images, 0, _NUM_IMAGES)),
          rows_lib.Rows(images, tf.constant(_NUM_IMAGES)),
        )
      ]

  plain, padded = map(float, compute())
  if not np.isclose(plain, padded, rtol=_LOSS_TOLERANCE, atol=_LOSS_TOLERANCE):
    raise ValueError(
      f'{type(method).__qualname__} trains on padding after the images of a'
      f' batch: its loss is {padded:.4g} with it, and {plain:.4g} without. Take'
      ' means over a batch by step.mean or step.cross_entropy, or leave'
      ' jit_compile out'
    )


class _LabelerOfAll(labeling.Labeler):
  """A labeler that selects all images for training."""

  def label(self, context, rows, state):
    labels, images, given = super().label(context, rows, state)
    is_selected = tf.ones_like(images.is_selected)
    return labels, images._replace(is_selected=is_selected), given


def _create_client(
  method: method_lib.Method, training: client_update.Training
) -> tuple[_LabelerOfAll, labeling.Images]:
  """Creates a client of round 1, with images of noise and perturbed weights."""
  model = training.model
  kind = sources.kind_of(model.image_shape)
  noise = kind.draw_noise(
    np.random.default_rng(0), [_NUM_ROWS, *model.image_shape]
  )
  images = labeling.Images(
    tf.constant(noise),
    tf.range(_NUM_ROWS),
    tf.fill([_NUM_ROWS], 0 if method.clients_have_labels else -1),
  )
  # Initial weights may give the same loss for all images.
  generator = np.random.default_rng(1)
  trainable = tuple(
    (each + generator.normal(0, 0.1, each.shape)).astype(np.float32)
    for each in model.initial_weights.trainable
  )
  weights = tf.nest.map_structure(
    tf.constant, model.initial_weights._replace(trainable=trainable)
  )
  context = federated_process.RoundContext(
    tf.constant(0), tf.constant(1), tf.constant(0.1)
  )
  black = tf.zeros([model.num_classes, *model.image_shape], kind.dtype)
  server = hook_arguments.Server(
    model=model,
    seed=context.seed,
    round_num=context.round_num,
    weights=weights,
    num_clients=1,
    data=tf.data.Dataset.from_tensors(
      {'image': black, 'label': tf.range(model.num_classes)}
    ),
  )
  guides = method.guides
  kept = {name: each.init_guidance(model) for name, each in guides.items()}
  labeler = _LabelerOfAll(
    model=model,
    weak_augmentation=training.weak_augmentation,
    method=method,
    received=weights,
    node=federated_process.Node(
      method_lib.tell(guides, kept, server, context), tf.constant(0)
    ),
    memory=method.init_memory(model),
  )
  return labeler, images
