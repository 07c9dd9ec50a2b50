# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Data sets of TensorFlow Datasets, with constants of published experiments.

CIFAR and SVHN are as in SemiFL's Table 4, EMNIST is as in Zhang et al. EMNIST's
split "balanced" has the same number of images of each class, and one class for
capital and small letters that look alike. The images are transposed, as they
were published: a horizontal flip turns letters upside down.

References:
  Cohen, Afshar, Tapson, van Schaik. EMNIST. IJCNN 2017.

  Xiao, Rasul, Vollgraf. Fashion-MNIST: a novel image dataset for benchmarking
  machine learning algorithms. 2017.

  Zhang et al. Benchmarking semi-supervised federated learning. 2020.
"""

import dataclasses
import string

from tff_semifl.augment import fixmatch_policy
from tff_semifl.experiment import tfds_task

# The fine classes of CIFAR-100, in the order of their labels in TFDS.
_NAMES_OF_100 = tuple(
  """
  apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl
  boy bridge bus butterfly camel can castle caterpillar cattle chair
  chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin
  elephant flatfish forest fox girl hamster house kangaroo keyboard lamp
  lawn_mower leopard lion lizard lobster man maple_tree motorcycle mountain
  mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck
  pine_tree plain plate poppy porcupine possum rabbit raccoon ray road
  rocket rose sea seal shark shrew skunk skyscraper snail snake spider
  squirrel streetcar sunflower sweet_pepper table tank telephone television
  tiger tractor train trout tulip turtle wardrobe whale willow_tree wolf
  woman worm
  """.split()
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CIFAR10(tfds_task.TFDSTaskOfBothPapers):
  """CIFAR-10: 50,000 training and 10,000 test images."""

  short_name = 'cifar10'

  data_set = tfds_task.DataSet(
    name='cifar10',
    image_shape=(32, 32, 3),
    class_names=tuple(
      'airplane automobile bird cat deer dog frog horse ship truck'.split()
    ),
    pixel_mean=(0.4914, 0.4822, 0.4465),
    pixel_standard_deviation=(0.2023, 0.1994, 0.2010),
    flip=True,
    padding=4,
    model_depth=28,
    model_width=2,
    num_labeled=4000,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class CIFAR100(tfds_task.TFDSTask):
  """CIFAR-100: 50,000 training and 10,000 test images."""

  short_name = 'cifar100'

  data_set = tfds_task.DataSet(
    name='cifar100',
    image_shape=(32, 32, 3),
    class_names=_NAMES_OF_100,
    pixel_mean=(0.5071, 0.4865, 0.4409),
    pixel_standard_deviation=(0.2673, 0.2564, 0.2762),
    flip=True,
    padding=4,
    model_depth=28,
    model_width=8,
    num_labeled=10_000,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SVHN(tfds_task.TFDSTaskOfBothPapers):
  """SVHN: 73,257 training and 26,032 test images, without the split "extra"."""

  short_name = 'svhn'

  data_set = tfds_task.DataSet(
    name='svhn_cropped',
    image_shape=(32, 32, 3),
    class_names=tuple(str(digit) for digit in range(10)),
    pixel_mean=(0.4377, 0.4438, 0.4728),
    pixel_standard_deviation=(0.1980, 0.2010, 0.1970),
    # The mirror image of a digit is not a digit. (The code of Zhang et al.
    # flips digits, too.)
    flip=False,
    padding=4,
    model_depth=28,
    model_width=2,
    # The larger number in SemiFL's tables; the paper's text has other numbers.
    num_labeled=1000,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class EMNIST(tfds_task.TFDSTask):
  """EMNIST: 112,800 training and 18,800 test images."""

  short_name = 'emnist'

  data_set = tfds_task.DataSet(
    name='emnist/balanced',
    image_shape=(28, 28, 1),
    # Small letters with a class of their own come last.
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
