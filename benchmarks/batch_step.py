# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The time of a step of the model alone, by the size of its batch."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from benchmarks import measurement
from tff_semifl.models import wide_resnet

_IMAGE_SHAPE = (32, 32, 3)
_NUM_CLASSES = 10


def measure(
  num_repetitions: int,
  *,
  depth: int = 16,
  width: int = 1,
  batch_sizes: tuple[int, ...] = (10, 20, 32, 50, 100, 250),
) -> measurement.Measurement:
  """Measures steps of gradient descent in plain TensorFlow.

  The threads of an operation are those of the process: two runs, with
  `TF_NUM_INTRAOP_THREADS=1` and without, say from which size on more than one
  is worth it.

  Args:
    num_repetitions: Steps with each size.
    depth: Of the WideResNet.
    width: Of the WideResNet.
    batch_sizes: The sizes.
  """
  model = wide_resnet.create_wide_resnet(
    _IMAGE_SHAPE,
    _NUM_CLASSES,
    depth=depth,
    width=width,
    pixel_mean=(0.5,) * 3,
    pixel_standard_deviation=(0.25,) * 3,
  )
  return measurement.Measurement(
    name='batch_step',
    description=(
      f'A step of a WideResNet-{depth}-{width} on images of 32x32x3, by the'
      ' size of the batch'
    ),
    unit='s',
    values=measurement.time_in_turns(
      {f'{size} images': _build_step(model, size) for size in batch_sizes},
      num_repetitions,
    ),
  )


def _build_step(model: tf.keras.Model, batch_size: int) -> Callable[[], None]:
  images = tf.constant(
    np.random.default_rng(0)
    .uniform(0, 255, (batch_size, *_IMAGE_SHAPE))
    .astype(np.float32)
  )
  labels = tf.range(batch_size) % _NUM_CLASSES

  @tf.function
  def step():
    with tf.GradientTape() as tape:
      loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(
          labels, model(images, training=True)
        )
      )
    gradients = tape.gradient(loss, model.trainable_variables)
    for variable, gradient in zip(
      model.trainable_variables, gradients, strict=True
    ):
      variable.assign_sub(1e-3 * gradient)
    return loss

  return lambda: step().numpy()
