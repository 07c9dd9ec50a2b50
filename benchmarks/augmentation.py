# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The speed of a client's strong augmentation.

As in an epoch of training, one graph augments all images of a client at once,
first weakly and then strongly.
"""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from benchmarks import measurement
from tasks import cifar
from tff_semifl.experiment import image_task
from tff_semifl.randomness import random_seeds

# About as many images of CIFAR-10, and epochs, as a client has in SemiFL.
_NUM_IMAGES = 500
_NUM_EPOCHS = 5


def measure(
  num_repetitions: int,
  *,
  num_images: int = _NUM_IMAGES,
  num_epochs: int = _NUM_EPOCHS,
) -> measurement.Measurement:
  """Measures strongly augmented images per second, at CIFAR-10's image size."""
  task = cifar.CIFAR10().create()
  # Images of noise, because CIFAR-10 would have to be downloaded.
  images = np.random.default_rng(0).integers(
    256, size=(num_images, *task.image_shape), dtype=np.uint8
  )
  seconds = measurement.time_alternately(
    {
      name: _client(task, image_task.AUGMENTATIONS[name](), images, num_epochs)
      for name in image_task.AUGMENTATIONS
    },
    num_repetitions,
  )
  num_augmented = num_images * num_epochs
  size = 'x'.join(map(str, task.image_shape))
  return measurement.Measurement(
    name='augmentation',
    unit='images/s',
    target='at least 5,000 images a second on two cores',
    description=(
      f'Images a second, weakly and then strongly augmented, of a client'
      f' with {num_images} images of {size}: {num_repetitions} repetitions of'
      f' {num_epochs} epochs'
    ),
    values={
      name: [num_augmented / each for each in values]
      for name, values in seconds.items()
    },
  )


def _client(
  task: image_task.ImageTask,
  policy: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
  images: np.ndarray,
  num_epochs: int,
) -> Callable[[], None]:
  """Builds a function that augments a client's images for all epochs."""
  augment = image_task.weak_then_strong(task.weak_augmentation, policy)

  # In training the number of images is unknown when graphs are built.
  @tf.function(
    input_signature=[
      tf.TensorSpec([None, *task.image_shape], tf.uint8),
      tf.TensorSpec([], tf.int32),
    ]
  )
  def make_views(images: tf.Tensor, epoch: tf.Tensor) -> tf.Tensor:
    seed = random_seeds.stateless_seed(
      0, random_seeds.Purpose.STRONG_VIEW, epoch
    )
    return augment(images, seed)

  tensor = tf.constant(images)

  def run() -> None:
    for epoch in range(num_epochs):
      # Copying the result waits until the GPU has finished.
      make_views(tensor, tf.constant(epoch)).numpy()

  return run
