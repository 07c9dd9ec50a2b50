# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The time of a step of the model alone, by the size of its batch."""

import functools

import numpy as np
import tensorflow as tf

from benchmarks import measurement
from tff_semifl.experiments import models
from tff_semifl.tasks import cifar10


def measure(
  num_repetitions: int,
  *,
  depth: int = 16,
  width: int = 1,
  batch_sizes: tuple[int, ...] = (10, 20, 32, 50, 100, 250),
) -> measurement.Measurement:
  """Measures steps of gradient descent in Keras, on noise.

  The threads of an operation are those of the process: two runs, with
  `TF_NUM_INTRAOP_THREADS=1` and without, say from which size on more than one
  is worth it.

  Args:
    num_repetitions: Steps with each size.
    depth: Of the WideResNet.
    width: Of the WideResNet.
    batch_sizes: The sizes.
  """
  task = cifar10.CIFAR10().create()
  model = models.WideResNet(model_depth=depth, model_width=width).create(
    task, seed=0
  )
  model.compile(
    'sgd', tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
  )
  shape = max(batch_sizes), *task.image_shape
  noise = np.random.default_rng(0).uniform(0, 255, shape).astype(np.float32)
  labels = np.arange(len(noise)) % task.num_classes
  return measurement.Measurement(
    name='batch_step',
    description=(
      f'A step of a WideResNet-{depth}-{width} on images of 32x32x3, by the'
      ' size of the batch'
    ),
    unit='s',
    values=measurement.time_in_turns(
      {
        f'{size} images': functools.partial(
          model.train_on_batch, noise[:size], labels[:size]
        )
        for size in batch_sizes
      },
      num_repetitions,
    ),
  )
