# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""CIFAR-100, as in SemiFL's experiments (Table 4 of SemiFL)."""

import dataclasses

from tff_semifl.experiment import tfds_task

# The fine classes, in the order of their labels in TFDS.
_CLASS_NAMES = tuple(
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
class CIFAR100(tfds_task.TFDSTask):
  """CIFAR-100: 50,000 training and 10,000 test images."""

  short_name = 'cifar100'

  data_set = tfds_task.DataSet(
    name='cifar100',
    image_shape=(32, 32, 3),
    class_names=_CLASS_NAMES,
    pixel_mean=(0.5071, 0.4865, 0.4409),
    pixel_standard_deviation=(0.2673, 0.2564, 0.2762),
    flip=True,
    padding=4,
    model_depth=28,
    model_width=8,
    num_labeled=10_000,
  )
