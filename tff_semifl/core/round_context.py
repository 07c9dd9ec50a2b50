# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The round number, seed and learning rate that server and clients share."""

import dataclasses
from typing import Any, NamedTuple

import tensorflow as tf

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
