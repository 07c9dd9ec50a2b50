# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What server and clients need to know about the round they work in."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


class RoundContext(NamedTuple):
  """The round, as it is broadcast with the model weights.

  Attributes:
    seed: int32 scalar, the run's seed.
    round_num: int32 scalar, the round; 0 is the one before any client works.
    learning_rate: float32 scalar, for server and clients alike.
    guidance: What else the server tells clients (`guidance.Guidance`); for most
      algorithms, and for the server, nothing.
  """

  seed: int
  round_num: int
  learning_rate: float
  guidance: Any = ()


ROUND_CONTEXT_TYPE = tff.types.to_type(
  RoundContext(seed=np.int32, round_num=np.int32, learning_rate=np.float32)
)


def build_beginning(
  learning_rate_fn: Callable[[tf.Tensor], tf.Tensor],
) -> tff.Computation:
  """Builds the beginning of a round.

  Args:
    learning_rate_fn: Round -> learning rate.

  Returns:
    (<seed=int32, round_num=int32> -> <RoundContext, int32>), of which the last
    is the number of the next round.
  """

  @tff.tensorflow.computation(np.int32, np.int32)
  def begin_round(seed: tf.Tensor, round_num: tf.Tensor):
    context = RoundContext(seed, round_num, learning_rate_fn(round_num))
    return context, round_num + 1

  return begin_round
