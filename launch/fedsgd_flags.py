# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flag of federated SGD as SemiFL's authors ran it."""

from absl import flags

CLIENTS_PER_STEP = flags.DEFINE_integer(
  'clients_per_step',
  10,
  'Clients of whose images a step is made, as long as so many have images left'
  ' in the epoch (D55).',
  lower_bound=1,
)
