# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SVHN with the constants of SemiFL's experiments (C.1, C.2, Table 4).

The images are digits of house numbers; the label in TFDS is the digit, 0 to 9.
As in the paper, the half million images of the split "extra" are not used.
"""

import dataclasses

from tff_semifl.experiments import tfds_task


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
    # The mirror image of a digit is not a digit. The code of Zhang et al.
    # mirrors digits, too (D28).
    flip=False,
    padding=4,
    model_depth=28,
    model_width=2,
    # The larger of the two numbers in the tables, 250 and 1000; the paper's
    # text has other numbers (D18).
    num_labeled=1000,
  )
