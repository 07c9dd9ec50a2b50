# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SVHN, as in SemiFL's experiments (Table 4 of SemiFL).

The images are digits of house numbers; the label in TFDS is the digit, 0 to 9.
As in SemiFL, the split "extra" of half a million images is not used.
"""

import dataclasses

from tff_semifl.experiment import tfds_task


@dataclasses.dataclass(frozen=True, kw_only=True)
class SVHN(tfds_task.TFDSTaskOfBothPapers):
  """SVHN: 73,257 training and 26,032 test images."""

  short_name = 'svhn'

  data_set = tfds_task.DataSet(
    name='svhn_cropped',
    image_shape=(32, 32, 3),
    class_names=tuple(str(digit) for digit in range(10)),
    pixel_mean=(0.4377, 0.4438, 0.4728),
    pixel_standard_deviation=(0.1980, 0.2010, 0.1970),
    # The mirror image of a digit is not a digit. (Zhang et al. do flip digits.)
    flip=False,
    padding=4,
    model_depth=28,
    model_width=2,
    # The larger number in SemiFL's tables; its text has other numbers.
    num_labeled=1000,
  )
