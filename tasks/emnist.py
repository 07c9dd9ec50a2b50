# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""EMNIST, 47 classes of letters and digits, as the benchmark has it (C.6).

The split "balanced": as many images of each class, with capital and small
letters that look alike made one class. TFDS has images as they were published,
and so does the benchmark: transposed, so that they lie on their side. A flip is
therefore what is upside down to a reader.

References:
  Cohen, Afshar, Tapson, van Schaik. EMNIST. IJCNN 2017.
  Zhang et al. Benchmarking semi-supervised federated learning. 2020.
"""

import functools
import string

from tasks import benchmark_views
from tasks import image_task
from tff_semifl.data import sources

_NAME = 'emnist/balanced'
_IMAGE_SHAPE = (28, 28, 1)


def create_task() -> image_task.ImageTask:
  """Creates the task; 112,800 training and 18,800 test images by TFDS."""
  weak_augmentation = benchmark_views.create_weak_augmentation(_IMAGE_SHAPE)
  return image_task.ImageTask(
    image_shape=_IMAGE_SHAPE,
    # Small letters that have a class of their own.
    class_names=(*string.digits, *string.ascii_uppercase, *'abdefghnqrt'),
    # Those of MNIST, in the benchmark's code (D23).
    pixel_mean=(0.1307,),
    pixel_standard_deviation=(0.3081,),
    load=_load,
    load_test=functools.partial(sources.load_tfds_split, _NAME, 'test'),
    weak_augmentation=weak_augmentation,
    strong_augmentation=benchmark_views.create_strong_augmentation(
      weak_augmentation
    ),
    # For whoever wants another model than the benchmark's: 28, 14 and 7 pixels.
    model_depth=28,
    model_width=2,
    model_num_groups=3,
    num_labeled=4700,
  )


def _load(data_dir: str | None) -> image_task.TaskData:
  train, test = sources.load_tfds(_NAME, ['train', 'test'], data_dir)
  return image_task.TaskData(train, test)
