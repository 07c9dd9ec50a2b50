# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""CIFAR-10 and CIFAR-100, as in SemiFL's experiments (Table 4 of SemiFL)."""

import dataclasses

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
