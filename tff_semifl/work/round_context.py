# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What server and clients need to know about the round they work in."""

from typing import NamedTuple

import numpy as np
import tensorflow_federated as tff


class RoundContext(NamedTuple):
  """The round, as it is broadcast with the model weights.

  Attributes:
    seed: int32 scalar, the run's seed.
    round_num: int32 scalar, the round; 0 is the one before any client works.
    learning_rate: float32 scalar, for server and clients alike.
  """

  seed: int
  round_num: int
  learning_rate: float


ROUND_CONTEXT_TYPE = tff.types.to_type(
  RoundContext(seed=np.int32, round_num=np.int32, learning_rate=np.float32)
)
