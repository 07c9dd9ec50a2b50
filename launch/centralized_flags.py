# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flag of training in one place."""

from absl import flags

TOTAL_EPOCHS = flags.DEFINE_integer(
  'total_epochs',
  400,
  'Epochs, and length of the cosine that the learning rate follows (D33). Each'
  ' is a round, and the first of them round 0.',
  lower_bound=1,
)
