# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""CIFAR-10, as in SemiFL's experiments (Table 4 of SemiFL)."""

import dataclasses

from tff_semifl.experiment import tfds_task


@dataclasses.dataclass(frozen=True, kw_only=True)
class CIFAR10(tfds_task.TFDSTaskOfBothPapers):
  """CIFAR-10: 50,000 training and 10,000 test images."""

  short_name = 'cifar10'

  data_set = tfds_task.DataSet(
    name='cifar10',
    image_shape=(32, 32, 3),
    class_names=(
      'airplane',
      'automobile',
      'bird',
      'cat',
      'deer',
      'dog',
      'frog',
      'horse',
      'ship',
      'truck',
    ),
    pixel_mean=(0.4914, 0.4822, 0.4465),
    pixel_standard_deviation=(0.2023, 0.1994, 0.2010),
    flip=True,
    padding=4,
    model_depth=28,
    model_width=2,
    num_labeled=4000,
  )
