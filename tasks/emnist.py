# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""EMNIST, 47 classes of letters and digits, as in Zhang et al.

The split "balanced" has equally many images of each class. A capital and a
small letter that look alike are one class. In TFDS and in Zhang et al., images
are transposed, as published: a horizontal flip turns letters upside down.

References:
  Cohen, Afshar, Tapson, van Schaik. EMNIST. IJCNN 2017.

  Zhang et al. Benchmarking semi-supervised federated learning. 2020.
"""

import dataclasses
import string

from tff_semifl.augment import fixmatch_policy
from tff_semifl.experiment import tfds_task


@dataclasses.dataclass(frozen=True, kw_only=True)
class EMNIST(tfds_task.TFDSTask):
  """EMNIST: 112,800 training and 18,800 test images."""

  short_name = 'emnist'

  data_set = tfds_task.DataSet(
    name='emnist/balanced',
    image_shape=(28, 28, 1),
    # Small letters that have their own class come last.
    class_names=(*string.digits, *string.ascii_uppercase, *'abdefghnqrt'),
    # MNIST's values, as in the code of Zhang et al.
    pixel_mean=(0.1307,),
    pixel_standard_deviation=(0.3081,),
    # As in the code of Zhang et al.; their paper only says "flip and shift".
    flip=True,
    padding=3,
    build_strong_augmentation=(
      fixmatch_policy.build_fixmatch_pytorch_rand_augment
    ),
    # Zhang et al. have no WideResNet for EMNIST. Three groups have feature maps
    # of 28, 14 and 7 pixels.
    model_depth=28,
    model_width=2,
    model_num_groups=3,
    num_labeled=4700,
  )
