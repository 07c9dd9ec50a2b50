# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The images that an experiment is evaluated on."""

from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from tff_semifl.data import sources
from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.models import functional
from tff_semifl.runs import intervals

_BATCH_SIZE = 500


def count_by_class(experiment: experiment_lib.Experiment) -> np.ndarray:
  """The number of test images of each class, int64 [classes].

  Args:
    experiment: The experiment; if it validates, its validation images count.
  """
  return np.bincount(
    experiment.data.test.labels, minlength=experiment.task.num_classes
  )


def find_right(
  experiment: experiment_lib.Experiment, weights: functional.ModelWeights
) -> np.ndarray:
  """Whether a model is right on each test image, bool [images]."""
  logits = compute_logits(experiment, weights)
  return logits.argmax(axis=1) == experiment.data.test.labels


def compute_logits(
  experiment: experiment_lib.Experiment,
  weights: functional.ModelWeights,
  images: sources.Images | None = None,
) -> np.ndarray:
  """The logits of images, float32 [images, classes]."""
  mapped = experiment.mapped_images
  predict = tf.function(
    lambda weights, images: experiment.classifier.logits(
      weights, tf.cast(images, tf.float32)
    ),
    reduce_retracing=True,
  )
  if images is None:
    images = experiment.data.test.images
  found = [np.empty([0, experiment.task.num_classes], np.float32)]
  for start in range(0, len(images), _BATCH_SIZE):
    batch = np.asarray(images[start : start + _BATCH_SIZE])
    if mapped is not None:
      batch = mapped.read(batch)
    found.append(predict(weights, batch).numpy())
  return np.concatenate(found)


def describe(experiment: experiment_lib.Experiment) -> str:
  """A line on how precise an accuracy over these images is."""
  sizes = count_by_class(experiment)
  num_images = int(sizes.sum())
  low, high = intervals.of_accuracy(num_images // 2, num_images)
  kind = 'validation' if experiment.settings.validates else 'test'
  return (
    f'{kind} accuracy is over {intervals.describe_images(sizes)}: one image is'
    f' {100 / num_images:.2g} points, and a 95% interval is up to'
    f' {100 * (high - low):.2g} points wide'
  )


def find_problems(experiment: experiment_lib.Experiment) -> Iterator[str]:
  """Lines on classes without an image."""
  sizes = count_by_class(experiment)
  missing = [
    name
    for name, size in zip(experiment.task.class_names, sizes, strict=True)
    if not size
  ]
  if missing:
    shown = ', '.join(missing[:10])
    if len(missing) > 10:
      shown += f' and {len(missing) - 10} more'
    yield (
      f'no image to evaluate on is of class {shown}: the accuracy is over'
      f' {len(sizes) - len(missing)} of {len(sizes)} classes'
    )
