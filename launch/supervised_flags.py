# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flag of clients that have labels."""

from absl import flags

MASK_ABSENT_CLASSES = flags.DEFINE_bool(
  'mask_absent_classes',
  False,
  'Whether a client leaves out of its loss what the model says of classes that'
  ' it has no image of, as HeteroFL does (D53).',
)
