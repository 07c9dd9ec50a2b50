# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flag of systems that average the server with the clients."""

from absl import flags

PLAIN_AVERAGE = flags.DEFINE_bool(
  'plain_average',
  False,
  'Whether the server weighs as much as a client, and momentum is that of the'
  " average, as in the paper's words, instead of half of it all, with momentum"
  ' of what divides it from the clients (D35).',
)
