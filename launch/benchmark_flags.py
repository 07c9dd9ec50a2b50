# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags of the systems of the benchmark of Zhang et al.

Defaults are those of CIFAR-10 (Table A.1), unless the help says otherwise.
"""

import math

from absl import flags

NUM_GROUPS = flags.DEFINE_integer(
  'num_groups',
  1,
  'Groups of clients that are averaged apart, S; 1 is federated averaging with'
  ' the server as a member (equations 5 and 6).',
  lower_bound=1,
)
STEPS_PER_ROUND = flags.DEFINE_integer(
  'steps_per_round',
  16,
  'Steps of server and clients between two averages, T.',
  lower_bound=1,
)
BATCH_SIZE = flags.DEFINE_integer(
  'batch_size', 64, 'Images in a step of server or client, B.', lower_bound=1
)
LEARNING_RATE_FLOOR = flags.DEFINE_float(
  'learning_rate_floor',
  1e-4,
  'The least learning rate after the warm-up, as a share of the highest.',
)
WARM_UP_STEPS = flags.DEFINE_integer(
  'warm_up_steps',
  5 * 1024,
  'Steps in which the learning rate rises to its highest; 1024 are an epoch of'
  " the benchmark's, whatever the number of images.",
  lower_bound=0,
)
SCHEDULE_STEPS = flags.DEFINE_integer(
  'schedule_steps',
  200 * 1024,
  'Where the cosine of the learning rate has turned by --schedule_half_turns,'
  ' warm-up included (D43).',
  lower_bound=1,
)
SCHEDULE_HALF_TURNS = flags.DEFINE_float(
  'schedule_half_turns',
  7 / 16,
  "Half turns of that cosine, c of equation 10; 7/16 as FixMatch's and in the"
  " authors' code (D43).",
)

flags.register_validator(
  LEARNING_RATE_FLOOR.name,
  lambda value: 0 <= value <= 1,
  message='must be in [0, 1]',
)
flags.register_validator(
  SCHEDULE_HALF_TURNS.name,
  lambda value: 0 <= value < math.inf,
  message='must be at least 0',
)
flags.register_multi_flags_validator(
  [WARM_UP_STEPS.name, SCHEDULE_STEPS.name],
  lambda values: values[WARM_UP_STEPS.name] < values[SCHEDULE_STEPS.name],
  message='--warm_up_steps must be less than --schedule_steps',
)
