# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tasks of images or features in memory, with suitable augmentations.

If clients have images of their own, pixel mean and standard deviation come from
the server's images alone, so that they reveal nothing about clients' images.
The strong augmentation is KerasCV's RandAugment at low magnitude, whose shifts
scale with the image. SemiFL's augmentation shifts by 100 pixels at any size: it
leaves one in seven images of up to 100 pixels blank. FixMatch's augmentation is
made for images of 32 pixels and hardly changes larger images.
"""

from collections.abc import Mapping
import functools
import hashlib
import types
from typing import Any

import numpy as np

from tff_semifl.augment import augmentation
from tff_semifl.augment import keras_cv_policy
from tff_semifl.data import example_kinds
from tff_semifl.data import image_files
from tff_semifl.data import own_images
from tff_semifl.data import sources
from tff_semifl.experiment import image_task
from tff_semifl.models import wide_resnet

# The largest weak shift is the image's size divided by this: 4 pixels of 32,
# and 12 of 96, as in the papers.
_PADDING_SHARE = 8
# Blocks in each group of the WideResNet. The paper's 28 layers have four blocks
# in each of three groups, and 37 layers, for images of 96x96, four blocks in
# each of four groups. Images of 128 pixels and more have five groups. At full
# depth and width, five groups have 24 million weights, and a step of 10 images
# of 224 pixels takes 12 seconds on a CPU. With half the blocks and half the
# width there are 3 million weights, and the step takes less than 2 seconds.
_BLOCKS_PER_GROUP = 4
_WIDTH = 2
_MAX_WIDE_GROUPS = 4
# Default settings for tasks of features.
USUAL_OF_FEATURES: Mapping[str, Any] = types.MappingProxyType(
  {'model': 'linear', 'strong_augmentation': None}
)


def create_task(
  data: sources.TaskData,
  class_names: tuple[str, ...],
  *,
  flip: bool = True,
  origin_of_test: str = 'the test images',
  num_resized: int = 0,
  num_transparent: int = 0,
  background: image_files.Color = image_files.WHITE,
) -> image_task.ImageTask:
  """Creates a task of images that are in memory.

  The task's description has a digest of all images, so that a run resumes on
  the same images only.
  """
  pixel_mean, pixel_standard_deviation = sources.measure_pixels(
    data.train.images
  )
  height, width, num_channels = data.train.images.shape[1:]
  image_shape = (height, width, num_channels)
  weak_augmentation = functools.partial(
    augmentation.flip_and_crop,
    flip=flip,
    padding=min(height, width) // _PADDING_SHARE,
  )
  num_groups = wide_resnet.default_num_groups(image_shape)
  shrinks_by = 1 if num_groups <= _MAX_WIDE_GROUPS else 2
  return image_task.ImageTask(
    image_shape=image_shape,
    class_names=class_names,
    pixel_mean=pixel_mean,
    pixel_standard_deviation=pixel_standard_deviation,
    load=lambda: data,
    weak_augmentation=weak_augmentation,
    strong_augmentation=image_task.weak_then_strong(
      weak_augmentation, keras_cv_policy.build_gentle_rand_augment()
    ),
    # One layer of the stem, and in each group two layers for each block and one
    # more.
    model_depth=num_groups * (2 * _BLOCKS_PER_GROUP // shrinks_by + 1) + 1,
    model_width=_WIDTH // shrinks_by,
    num_labeled=len(data.train.labels),
    background=background,
    data_description=describe(
      data,
      class_names,
      origin_of_test,
      num_resized,
      f' {num_transparent} transparent on {image_files.name_color(background)},'
      if num_transparent
      else '',
    ),
  )


def create_feature_task(
  data: sources.TaskData,
  class_names: tuple[str, ...],
  *,
  origin_of_test: str = 'the test vectors',
) -> image_task.ImageTask:
  """Creates a task of feature vectors, float32 [number, features].

  There is no weak augmentation; strong augmentation adds Gaussian noise, see
  `augmentation.add_noise`.
  """
  mean, standard_deviation = own_images.measure_features(data.train.images)
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
    data_description=describe(data, class_names, origin_of_test),
  )


def describe(
  data: sources.TaskData,
  class_names: tuple[str, ...],
  origin_of_test: str = 'the test images',
  num_resized: int = 0,
  transparent: str = '',
) -> str:
  """One line with the numbers of images and a digest of all images."""
  unlabeled = data.unlabeled
  # Of sites, only the names are known.
  names = ()
  if isinstance(unlabeled, sources.SiteImages):
    names = unlabeled.names
  if unlabeled is None or names:
    unlabeled = data.train.images[:0]
  labels_of_clients = data.unlabeled_labels
  if labels_of_clients is None:
    labels_of_clients = np.full(len(unlabeled), sources.UNKNOWN_LABEL, np.int32)
  # By client, since the digest must depend on the partition.
  everything = [slice(None)]
  digest = hashlib.sha256()
  for images, labels, indices in (
    (*data.train, everything),
    (
      unlabeled,
      labels_of_clients,
      everything if names else data.shares or everything,
    ),
    (*data.test, everything),
  ):
    digest.update(repr(images.shape).encode())
    for chosen in indices:
      digest.update(np.ascontiguousarray(images[chosen]).data)
    digest.update(labels.data)
  sizes = [len(share) for share in data.shares or ()]
  digest.update(repr((names or sizes, class_names)).encode())
  shape = data.train.images.shape[1:]
  resized = (
    f' {num_resized} resized to {shape[0]}x{shape[1]},' if num_resized else ''
  )
  of_clients = f'{len(unlabeled)} of {len(sizes)} clients'
  if names:
    of_clients = f'those of {", ".join(names)}'
  return (
    f'{len(data.train.labels)} labeled {example_kinds.kind_of(shape).name},'
    f' {of_clients},'
    f' {len(data.test.labels)} of {origin_of_test} for testing,{resized}'
    f'{transparent}'
    f' SHA-256 {digest.hexdigest()[:16]}'
  )
