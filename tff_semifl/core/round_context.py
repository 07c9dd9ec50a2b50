# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The round number, seed and learning rate that server and clients share."""

from collections.abc import Callable
import dataclasses
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.randomness import random_seeds


class RoundContext(NamedTuple):
  """What is broadcast beside the model weights.

  Attributes:
    seed: int32 scalar, the run's seed.
    learning_rate: float32 scalar, of server and clients.
    guidance: The message of `guidance.Guidance` to clients; () at the server
      and in methods without guidance.
  """

  seed: int
  round_num: int
  learning_rate: float
  guidance: Any = ()


class Beginning(NamedTuple):
  """The beginning of a round.

  Attributes:
    context: The `RoundContext`, without guidance.
    next_round_num: int32 scalar, the number of the next round.
  """

  context: Any
  next_round_num: Any


ROUND_CONTEXT_TYPE = tff.types.to_type(
  RoundContext(seed=np.int32, round_num=np.int32, learning_rate=np.float32)
)


@dataclasses.dataclass(frozen=True)
class Node:
  """A participant of a round that draws random numbers of its own.

  Attributes:
    key: int32 scalar: a client's number; -1, -2, ... for replicas of the
      server; None for a single server.
  """

  context: RoundContext
  key: tf.Tensor | None = None

  def seed(
    self, purpose: random_seeds.Purpose, *keys: tf.Tensor | int
  ) -> tf.Tensor:
    """The node's stateless seed for a purpose in the round, int32 [2].

    `keys` are int32 scalars, such as epoch and batch.
    """
    own_key = () if self.key is None else (self.key,)
    return random_seeds.stateless_seed(
      self.context.seed, purpose, self.context.round_num, *own_key, *keys
    )


def build_beginning(
  learning_rate_fn: Callable[[tf.Tensor], tf.Tensor],
) -> tff.Computation:
  """Builds the computation (<seed=int32, round_num=int32> -> Beginning).

  `learning_rate_fn` is (int32 scalar, the round) -> float32 scalar.
  """

  @tff.tensorflow.computation(np.int32, np.int32)
  def begin_round(seed: tf.Tensor, round_num: tf.Tensor):
    context = RoundContext(seed, round_num, learning_rate_fn(round_num))
    return Beginning(context, round_num + 1)

  return begin_round
