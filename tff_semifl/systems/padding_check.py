# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A check that a method leaves out padding after the images of a batch.

Compiled loops have padding (`loop_form.COMPILED`). A method that takes a plain
mean over a batch would silently train on it.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from tff_semifl.core import client_method
from tff_semifl.core import hook_arguments
from tff_semifl.core import labeling
from tff_semifl.core import local_steps
from tff_semifl.core import round_context
from tff_semifl.data import example_kinds
from tff_semifl.randomness import portable_draws
from tff_semifl.randomness import random_draws
from tff_semifl.training import given_labels as given_labels_lib
from tff_semifl.training import loop_form
from tff_semifl.training import padded_rows
from tff_semifl.training import rows as rows_lib
from tff_semifl.training import training_loop

# Methods of this package are tested to leave padding out.
_OWN = f'{__name__.partition(".")[0]}.'
_NUM_IMAGES, _NUM_ROWS = 3, 5
_TOLERANCE = 1e-3


def check(
  method: client_method.ClientMethod, training: local_steps.Training
) -> None:
  """Compares the loss of a batch with and without padding.

  Raises:
    ValueError: If the losses differ.
  """
  if is_own(method):
    return
  training = dataclasses.replace(
    training,
    weak_augmentation=_leave_as_they_are,
    strong_augmentation=_leave_as_they_are,
    num_epochs=1,
    batch_size=_NUM_ROWS,
    form=loop_form.DYNAMIC,
  )

  @tf.function(autograph=False)
  def compute() -> list[tf.Tensor]:
    with random_draws.drawing_by(portable_draws.GENERATOR):
      labeler = create_labeler(method, training)
      images = create_images(method, training)
      return [
        _loss(training, labeler, rows)
        for rows in (
          rows_lib.AllRows(images, tf.constant(_NUM_IMAGES)),
          padded_rows.PaddedRows(images, tf.constant(_NUM_IMAGES)),
        )
      ]

  plain, padded = map(float, compute())
  if not np.isclose(plain, padded, rtol=_TOLERANCE, atol=_TOLERANCE):
    raise ValueError(
      f'{type(method).__qualname__} trains on padding after the images of a'
      f' batch: its loss is {padded:.4g} with it, and {plain:.4g} without. Take'
      ' means over a batch by step.mean or step.cross_entropy, or leave'
      ' jit_compile out'
    )


def is_own(method: client_method.ClientMethod) -> bool:
  """Whether a method and all of its parts are of this package."""
  parts = [method, *method.parts.values()]
  return all(type(part).__module__.startswith(_OWN) for part in parts)


def create_images(
  method: client_method.ClientMethod, training: local_steps.Training
) -> labeling.Images:
  """Images of noise, with labels if clients have any."""
  shape = training.model.image_shape
  image = example_kinds.kind_of(shape).draw_noise(
    np.random.default_rng(0), [_NUM_ROWS, *shape]
  )
  return labeling.Images(
    tf.constant(image),
    tf.range(_NUM_ROWS),
    (tf.zeros([_NUM_ROWS], tf.int32),) if method.clients_have_labels else (),
  )


class _LabelerOfAll(labeling.Labeler):
  """Selects all images of a client for training."""

  def label(self, context, rows, state):
    """Labels images, and selects all."""
    labels, images, given = super().label(context, rows, state)
    is_selected = tf.ones_like(images.is_selected)
    return labels, images._replace(is_selected=is_selected), given


def _loss(
  training: local_steps.Training,
  labeler: _LabelerOfAll,
  rows: rows_lib.Rows,
) -> tf.Tensor:
  """The loss of a step on `labeling.Images`."""
  method = labeler.method
  real = rows_lib.AllRows(rows.examples, rows.number)
  context = labeler.context(real, labeler.received)
  state = method.init_state(context)
  if method.relabel == 'round':
    labels, images, _ = labeler.label(context, real, state)
    context = dataclasses.replace(context, labels=labels)
    # Padding has the labels of the last image.
    number = tf.shape(rows.examples.index)[0]
    repeated = tf.minimum(tf.range(number), rows.number - 1)
    images = rows_lib.gather(images, repeated)
    rows = rows.replace(
      images._replace(image=rows.examples.image, index=rows.examples.index)
    )
  result = local_steps.Steps(training, labeler).take(
    rows,
    context,
    training_loop.initial_optimizer_state(
      training.optimizer, training.model.initial_weights.trainable
    ),
    state,
    given_labels_lib.NOT_KEPT,
  )
  return result.sums.loss


def create_labeler(
  method: client_method.ClientMethod, training: local_steps.Training
) -> _LabelerOfAll:
  """The labeler of a client in round 1, with weights near the initial ones."""
  model = training.model
  # Models may start with the same loss for all images.
  generator = np.random.default_rng(1)
  weights = model.initial_weights._replace(
    trainable=tuple(
      tf.constant(each + generator.normal(0, 0.1, each.shape), tf.float32)
      for each in model.initial_weights.trainable
    ),
  )
  weights = tf.nest.map_structure(tf.convert_to_tensor, weights)
  context = round_context.RoundContext(
    tf.constant(0), tf.constant(1), tf.constant(0.1)
  )
  guidance = method.build_guidance(model)
  if guidance is not None:
    image = tf.zeros(
      [model.num_classes, *model.image_shape],
      example_kinds.kind_of(model.image_shape).dtype,
    )
    server = hook_arguments.Server(
      model=model,
      seed=context.seed,
      round_num=context.round_num,
      weights=weights,
      data=tf.data.Dataset.from_tensors(
        {'image': image, 'label': tf.range(model.num_classes)}
      ),
    )
    told = guidance.tell(guidance.initialize(), server)
    context = context._replace(guidance=told)
  return _LabelerOfAll(
    model=model,
    weak_augmentation=training.weak_augmentation,
    method=method,
    received=weights,
    node=round_context.Node(context, tf.constant(0)),
  )


def _leave_as_they_are(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
  """An augmentation that leaves images unchanged."""
  del seed
  return images
