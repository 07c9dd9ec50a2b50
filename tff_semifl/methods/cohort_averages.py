# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Means over the images of cohorts, averaged over rounds.

Methods in one place average such means over steps. Clients report sums over
their images, so that secure aggregation can hide those of any one client.
"""

import abc
from collections.abc import Mapping
import dataclasses

import tensorflow as tf

from tff_semifl.core import hook_arguments
from tff_semifl.methods import client_parts

Sums = Mapping[str, tf.Tensor]
Averages = Mapping[str, tf.Tensor]

_COUNT = 'num_images'


def sum_over_images(values: Mapping[str, tf.Tensor]) -> Sums:
  """Sums over the images of a client, axis 0, and the number of images."""
  (any_values, *_) = values.values()
  sums = {name: tf.reduce_sum(each, axis=0) for name, each in values.items()}
  return sums | {_COUNT: tf.cast(tf.shape(any_values)[0], tf.float32)}


def means(sums: Sums) -> dict[str, tf.Tensor]:
  """The means over the images of a cohort; 0 without any."""
  return {
    name: tf.math.divide_no_nan(each, sums[_COUNT])
    for name, each in sums.items()
    if name != _COUNT
  }


def unbiased_variance(sums: Sums, name: str, square_name: str) -> tf.Tensor:
  """The unbiased variance over the images of a cohort; 0 without any.

  `square_name` is the name of the squared value.
  """
  count, mean = sums[_COUNT], means(sums)
  return tf.maximum(
    mean[square_name] - mean[name] ** 2, 0.0
  ) * tf.math.divide_no_nan(count, count - 1.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Averaging(client_parts.ClientPart):
  """Base of the parts that keep moving averages over rounds.

  A round in which clients labeled no image changes nothing.
  """

  @property
  @abc.abstractmethod
  def decay(self) -> float:
    """The decay of the averages in a round, in [0, 1)."""

  def measure(self, sums: Sums) -> Averages:
    """The values to average; by default the means."""
    return means(sums)

  def guidance(
    self, kept: Averages, sums: Sums, server: hook_arguments.Server
  ) -> dict[str, tf.Tensor]:
    del server
    measured = self.measure(sums)
    return {
      name: tf.where(
        sums[_COUNT] > 0,
        self.decay * average + (1.0 - self.decay) * measured[name],
        average,
      )
      for name, average in kept.items()
    }
