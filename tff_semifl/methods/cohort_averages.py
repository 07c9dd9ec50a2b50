# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Means over the images of cohorts, averaged over rounds (I.1).

Methods in one place average such means from step to step; here they are
averaged from round to round. Clients report sums over their images, which are
added up, so that the server need not see those of any one client.
"""

import abc
from collections.abc import Mapping
import dataclasses

import tensorflow as tf

from tff_semifl.core import client_turn
from tff_semifl.methods import client_parts

Sums = Mapping[str, tf.Tensor]
Averages = Mapping[str, tf.Tensor]

_COUNT = 'num_images'


def sum_over_images(values: Mapping[str, tf.Tensor]) -> Sums:
  """Returns sums over the images of a client, and how many these are.

  Args:
    values: For at least one name float32 [images, ...].
  """
  (any_values, *_) = values.values()
  sums = {name: tf.reduce_sum(each, axis=0) for name, each in values.items()}
  return sums | {_COUNT: tf.cast(tf.shape(any_values)[0], tf.float32)}


def means(sums: Sums) -> dict[str, tf.Tensor]:
  """Returns the means over the images of a cohort; 0 without any.

  Args:
    sums: Those of `sum_over_images`, added up.
  """
  return {
    name: tf.math.divide_no_nan(each, sums[_COUNT])
    for name, each in sums.items()
    if name != _COUNT
  }


def unbiased_variance(sums: Sums, name: str, square_name: str) -> tf.Tensor:
  """Returns the variance over the images of a cohort; 0 without any.

  Args:
    sums: Those of `sum_over_images`, added up.
    name: Name of the value whose variance is computed.
    square_name: Name of its square.
  """
  count, mean = sums[_COUNT], means(sums)
  return tf.maximum(
    mean[square_name] - mean[name] ** 2, 0.0
  ) * tf.math.divide_no_nan(count, count - 1.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Averaging(client_parts.ClientPart):
  """Base of the parts that keep averages, which change a little each round.

  A round in which clients labeled no image changes nothing.
  """

  @property
  @abc.abstractmethod
  def decay(self) -> float:
    """The share of the averages that stays in a round, in [0, 1)."""

  def measure(self, sums: Sums) -> Averages:
    """Returns what is averaged; by default the means.

    Args:
      sums: Those of `sum_over_images`, added up.
    """
    return means(sums)

  def guidance(
    self, kept: Averages, sums: Sums, server: client_turn.Server
  ) -> dict[str, tf.Tensor]:
    """Returns the averages after a round."""
    del server  # Averages and sums are all that matters.
    measured = self.measure(sums)
    return {
      name: tf.where(
        sums[_COUNT] > 0,
        self.decay * average + (1.0 - self.decay) * measured[name],
        average,
      )
      for name, average in kept.items()
    }
