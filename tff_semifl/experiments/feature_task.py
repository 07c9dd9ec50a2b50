# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tasks of feature vectors that are in memory."""

from collections.abc import Mapping
import functools
import types
from typing import Any

from tff_semifl.augment import augmentation
from tff_semifl.data import own_features
from tff_semifl.experiments import image_task
from tff_semifl.experiments import loaded_task

# Settings of tasks of features, where nothing is chosen.
USUAL: Mapping[str, Any] = types.MappingProxyType(
  {'model': 'linear', 'strong_augmentation': None}
)


def create_task(
  data: image_task.TaskData,
  class_names: tuple[str, ...],
  *,
  origin_of_test: str = 'the test vectors',
) -> image_task.ImageTask:
  """Creates a task of feature vectors.

  There is no weak augmentation; the strong one adds Gaussian noise, see
  `feature_noise`.

  Args:
    data: The features, float32 [number, features].
  """
  mean, standard_deviation = own_features.measure(data.train.images)
  return image_task.ImageTask(
    image_shape=data.train.images.shape[1:],
    class_names=class_names,
    pixel_mean=mean,
    pixel_standard_deviation=standard_deviation,
    load=lambda: data,
    weak_augmentation=augmentation.keep,
    strong_augmentation=image_task.weak_then_strong(
      augmentation.keep,
      functools.partial(
        augmentation.add_noise, standard_deviation=standard_deviation
      ),
    ),
    # Unused: no WideResNet takes features.
    model_depth=1,
    model_width=1,
    num_labeled=len(data.train.labels),
    data_description=loaded_task.describe(data, class_names, origin_of_test),
  )
