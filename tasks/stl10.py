# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""STL-10, as in SemiFL's repository.

Clients also get 100,000 images of unknown class, some of which belong to none
of the ten classes. STL-10 is not in the paper, and the last version of the
authors' code cannot run STL-10. The images, of 96x96 pixels, take 3.1 GB.
"""

import dataclasses

from tff_semifl.experiment import tfds_task


@dataclasses.dataclass(frozen=True, kw_only=True)
class STL10(tfds_task.TFDSTask):
  """STL-10: 5,000 labeled, 100,000 unlabeled and 8,000 test images."""

  short_name = 'stl10'

  data_set = tfds_task.DataSet(
    name='stl10',
    image_shape=(96, 96, 3),
    class_names=(
      'airplane',
      'bird',
      'car',
      'cat',
      'deer',
      'dog',
      'horse',
      'monkey',
      'ship',
      'truck',
    ),
    pixel_mean=(0.4409, 0.4279, 0.3868),
    pixel_standard_deviation=(0.2683, 0.2610, 0.2687),
    flip=True,
    padding=12,
    model_depth=37,
    model_width=2,
    # As in the FixMatch paper; SemiFL has no table for STL-10.
    num_labeled=1000,
    splits=('train', 'test', 'unlabelled'),
  )
