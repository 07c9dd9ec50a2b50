# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Fashion-MNIST, ten kinds of clothes.

References:
  Xiao, Rasul, Vollgraf. Fashion-MNIST: a novel image dataset for benchmarking
  machine learning algorithms. 2017.
"""

import dataclasses

from tff_semifl.experiment import tfds_task


@dataclasses.dataclass(frozen=True, kw_only=True)
class FashionMNIST(tfds_task.TFDSTask):
  """Fashion-MNIST: 60,000 training and 10,000 test images."""

  short_name = 'fashion_mnist'

  data_set = tfds_task.DataSet(
    name='fashion_mnist',
    image_shape=(28, 28, 1),
    class_names=(
      'T-shirt/top',
      'trouser',
      'pullover',
      'dress',
      'coat',
      'sandal',
      'shirt',
      'sneaker',
      'bag',
      'ankle boot',
    ),
    pixel_mean=(0.2860,),
    pixel_standard_deviation=(0.3530,),
    flip=True,
    padding=2,
    # Three groups have feature maps of 28, 14 and 7 pixels.
    model_depth=16,
    model_width=2,
    model_num_groups=3,
    num_labeled=40,
  )
