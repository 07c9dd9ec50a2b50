# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The forms of RandAugment that can be named (D24)."""

from tff_semifl.augment import fedmatch_policy
from tff_semifl.augment import fixmatch_policy
from tff_semifl.augment import fixmatch_pytorch_policy
from tff_semifl.augment import keras_cv_policy
from tff_semifl.augment import semifl_policy

# What builds each; its views are of images that a weak augmentation has seen.
BUILDERS = {
  'fedmatch': fedmatch_policy.build_fedmatch_rand_augment,
  'fixmatch': fixmatch_policy.build_fixmatch_rand_augment,
  'fixmatch_pytorch': (
    fixmatch_pytorch_policy.build_fixmatch_pytorch_rand_augment
  ),
  'keras_cv': keras_cv_policy.build_keras_cv_rand_augment,
  'keras_cv_gentle': keras_cv_policy.build_gentle_rand_augment,
  'semifl': semifl_policy.build_semifl_rand_augment,
}
