# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Means over the images of cohorts, averaged over rounds (I.1).

Methods in one place average such means from step to step; here they are
averaged from round to round. Clients report sums over their images, which are
added up, so that the server need not see those of any one client.
"""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from tff_semifl import image_sums
from tff_semifl.models import functional
from tff_semifl.work import guidance as guidance_lib
from tff_semifl.work import round_context

Sums = Mapping[str, tf.Tensor]
Averages = Mapping[str, tf.Tensor]

_COUNT = 'num_images'


def sum_over_images(values: Mapping[str, tf.Tensor]) -> Sums:
  """Returns sums over the images of a client, and how many these are.

  Args:
    values: For at least one name float32 [images, ...].
  """
  (any_values, *_) = values.values()
  sums = {name: image_sums.add_up(each) for name, each in values.items()}
  return sums | {_COUNT: image_sums.count(any_values)}


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


def build(
  initialize: Callable[[], Averages],
  *,
  decay: float,
  measure: Callable[[Sums], Averages] = means,
  tell: Callable[[Averages], Any] = dict,
) -> guidance_lib.Guidance:
  """Builds a state of averages, which change by a share in each round.

  A round in which clients labeled no image changes nothing.

  Args:
    initialize: ( -> averages before any round), float32 tensors by name.
    decay: The share of the average that stays in a round, in [0, 1).
    measure: Sums of a cohort -> what is averaged; by default their means.
    tell: Averages -> what clients are told; by default these.

  Returns:
    Guidance whose reports are those of `sum_over_images`.
  """

  def tell_clients(
    averages: Averages,
    context: round_context.RoundContext,
    weights: functional.ModelWeights,
    server_data: tf.data.Dataset,
  ) -> Any:
    del context, weights, server_data  # Averages are all that matters.
    return tell(averages)

  def update(
    averages: Averages,
    context: round_context.RoundContext,
    weights: functional.ModelWeights,
    sums: Sums,
  ) -> dict[str, tf.Tensor]:
    del context, weights  # Averages and sums are all that matters.
    measured = measure(sums)
    return {
      name: tf.where(
        sums[_COUNT] > 0,
        decay * average + (1.0 - decay) * measured[name],
        average,
      )
      for name, average in averages.items()
    }

  return guidance_lib.Guidance(
    initialize=initialize, tell=tell_clients, update=update
  )
