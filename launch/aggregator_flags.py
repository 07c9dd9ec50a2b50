# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags that say what becomes of clients' updates on their way to one.

Those of one aggregator have no default of their own: one that the chosen
aggregator has no use for is an error.
"""

import math
import re

from absl import flags

AGGREGATOR = flags.DEFINE_enum(
  'aggregator',
  'mean',
  ['compression', 'differential_privacy', 'mean', 'robust'],
  "How clients' updates become one: mean, the uniform mean of those that count;"
  ' robust, of updates clipped to a quantile of their lengths, and without far'
  ' longer ones; differential_privacy, of clipped updates, with noise;'
  ' compression, of updates rounded to a few bits.',
)
CLIPPING_QUANTILE = flags.DEFINE_float(
  'clipping_quantile',
  None,
  'Share of updates that --aggregator=robust leaves as they are, in (0, 1). By'
  ' default 0.8.',
)
NOISE_MULTIPLIER = flags.DEFINE_float(
  'noise_multiplier',
  None,
  'Standard deviation of the noise of --aggregator=differential_privacy, in'
  ' clipping norms. It has no default.',
)
CLIPPING_NORM = flags.DEFINE_float(
  'clipping_norm',
  None,
  'Length that --aggregator=differential_privacy clips updates to. By default'
  ' 1; --aggregator=robust shows how long they are.',
)
PRIVACY_DELTA = flags.DEFINE_float(
  'privacy_delta',
  None,
  'Delta for which --aggregator=differential_privacy computes epsilon, in'
  ' (0, 1), less than 1 over the number of clients. By default 1e-5.',
)
INSECURE_FIXED_PRIVACY_KEY = flags.DEFINE_string(
  'insecure_fixed_privacy_key',
  None,
  'For tests: noise and cohorts of --aggregator=differential_privacy follow'
  ' from these 64 hexadecimal digits, so that everybody can repeat them.'
  ' Nothing is private then, and no epsilon is claimed. By default each'
  ' experiment draws a secret key of its own.',
)
QUANTIZATION_BITS = flags.DEFINE_integer(
  'quantization_bits',
  None,
  'Bits of a number with --aggregator=compression. By default 8.',
  lower_bound=1,
  upper_bound=16,
)
MAX_UPDATE_NORM_RATIO = flags.DEFINE_float(
  'max_update_norm_ratio',
  10.0,
  'An update longer than so many times the weights that the client was sent, or'
  ' not finite, counts for nothing, whatever the aggregator; above 0.',
)
CLIENT_DROPOUT_PROBABILITY = flags.DEFINE_float(
  'client_dropout_probability',
  0.0,
  'How often a client that was chosen for a round is not heard of again in it,'
  ' in [0, 1).',
)


def _register_range(flag: flags.FlagHolder, check, description: str) -> None:
  flags.register_validator(
    flag.name,
    lambda value: value is None or check(value),
    message=f'must be {description}',
  )


for _flag in (NOISE_MULTIPLIER, CLIPPING_NORM):
  # Beyond these, squares are no float32 any more, or epsilon is no number.
  _register_range(
    _flag, lambda value: 1e-6 <= value <= 1e6, 'from 0.000001 to 1000000'
  )
_register_range(
  MAX_UPDATE_NORM_RATIO, lambda value: 0 < value < math.inf, 'above 0'
)
for _flag in (CLIPPING_QUANTILE, PRIVACY_DELTA):
  _register_range(_flag, lambda value: 0 < value < 1, 'in (0, 1)')
_register_range(
  CLIENT_DROPOUT_PROBABILITY, lambda value: 0 <= value < 1, 'in [0, 1)'
)
flags.register_validator(
  INSECURE_FIXED_PRIVACY_KEY.name,
  lambda value: value is None or re.fullmatch('[0-9a-f]{64}', value),
  message='must be 64 hexadecimal digits, 0 to 9 and a to f',
)
