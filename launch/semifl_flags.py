# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags of SemiFL itself: its pseudo-labels and its mixup."""

import math

from absl import flags

MIXUP_CONCENTRATION = flags.DEFINE_float(
  'mixup_concentration',
  0.75,
  'Both parameters of the Beta distribution that mixup draws from, above 0.',
)
MIX_LOSS_WEIGHT = flags.DEFINE_float(
  'mix_loss_weight',
  1.0,
  'Factor on the loss of mixed images; 0 leaves them out.',
)
SOFT_PSEUDO_LABELS = flags.DEFINE_bool(
  'soft_pseudo_labels',
  False,
  "Whether clients train on the probabilities of all classes, as the paper's"
  ' formulas have it, instead of the most probable class (D12).',
)
MIX_ONCE_PER_ROUND = flags.DEFINE_bool(
  'mix_once_per_round',
  False,
  'Whether all epochs of a client mix with the same images, as in the paper,'
  ' instead of each with a new draw (D13).',
)
MIX_BEFORE_AUGMENTATION = flags.DEFINE_bool(
  'mix_before_augmentation',
  False,
  'Whether raw images are mixed and the mixture augmented, as in the paper,'
  ' instead of two weak views mixed (D14).',
)
MEASURE_PSEUDO_LABELS = flags.DEFINE_bool(
  'measure_pseudo_labels',
  True,
  'Whether to compare pseudo-labels with the true ones, which a simulation'
  ' knows; training never does. Cells of metrics.csv are empty otherwise, as'
  ' they are where the classes of images are not known.',
)

flags.register_validator(
  MIXUP_CONCENTRATION.name,
  lambda value: 0 < value < math.inf,
  message='must be above 0',
)
flags.register_validator(
  MIX_LOSS_WEIGHT.name,
  lambda value: 0 <= value < math.inf,
  message='must be at least 0',
)
