# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Writes images in the file format of TensorFlow Datasets."""

import os
from unittest import mock

import numpy as np
import tensorflow_datasets as tfds

from tff_semifl.data import sources


def random_images(
  num_images: int,
  size: int,
  num_classes: int,
  seed: int,
  *,
  num_channels: int = 3,
) -> sources.LabeledImages:
  """Square images of noise, with random labels."""
  generator = np.random.default_rng(seed)
  return sources.LabeledImages(
    generator.integers(
      256, size=(num_images, size, size, num_channels), dtype=np.uint8
    ),
    generator.integers(num_classes, size=num_images, dtype=np.int32),
  )


def random_cifar10(num_images: int, seed: int) -> sources.LabeledImages:
  """Images of noise with the shape and labels of CIFAR-10."""
  return random_images(num_images, 32, 10, seed)


def write_cifar10(
  data_dir: str, splits: dict[str, sources.LabeledImages]
) -> None:
  """Writes splits of CIFAR-10 to a TFDS folder."""
  write('cifar10', data_dir, splits)


def write(
  name: str, data_dir: str, splits: dict[str, sources.LabeledImages]
) -> None:
  """Writes splits of an image data set to a TFDS folder."""
  with offline():
    builder = tfds.builder(name, data_dir=data_dir)
    os.makedirs(builder.data_dir, exist_ok=True)
    writer = tfds.core.SequentialWriter(
      builder.info, max_examples_per_shard=10_000
    )
    writer.initialize_splits(list(splits))
    for split, data in splits.items():
      examples = []
      for index, (image, label) in enumerate(
        zip(data.images, data.labels, strict=True)
      ):
        example = {
          'id': f'{split}_{index}',
          'image': image,
          'label': label,
          'coarse_label': 0,
        }
        # Data sets have some or all of these.
        examples.append({key: example[key] for key in builder.info.features})
      writer.add_examples({split: examples})
    writer.close_all()


def offline() -> mock._patch:
  """A context in which TFDS does not contact its cloud storage."""
  return mock.patch.object(tfds.core.utils.gcs_utils, '_is_gcs_disabled', True)
