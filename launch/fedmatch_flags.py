# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags of FedMatch: as SemiFL's tables have it, and its own."""

import math

from absl import flags

REPRODUCE_BUGS = flags.DEFINE_bool(
  'reproduce_bugs',
  True,
  "Whether, as in the code of SemiFL's authors, half of the outputs of each"
  ' kernel only decay at the server, and nobody trains normalisation and'
  ' classifier (D41).',
)
SUPERVISED_LOSS_WEIGHT = flags.DEFINE_float(
  'supervised_loss_weight',
  10.0,
  "Factor on the server's loss, lambda_s in FedMatch.",
)
NUM_HELPERS = flags.DEFINE_integer(
  'num_helpers',
  2,
  'Clients whose models a client is sent to label with, H in FedMatch.',
  lower_bound=1,
)
ROUNDS_PER_HELP = flags.DEFINE_integer(
  'rounds_per_help',
  10,
  'Only every so many rounds are clients sent such models.',
  lower_bound=1,
)

flags.register_validator(
  SUPERVISED_LOSS_WEIGHT.name,
  lambda value: 0 <= value < math.inf,
  message='must be at least 0',
)
