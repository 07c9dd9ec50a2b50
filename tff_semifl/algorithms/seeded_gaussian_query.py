# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Gaussian noise for private sums that is a function of the run's seed."""

import collections
from typing import Any

import dp_accounting
import tensorflow as tf
import tensorflow_privacy

from tff_semifl import random_seeds


class SeededGaussianSumQuery(tensorflow_privacy.GaussianSumQuery):
  """A `GaussianSumQuery` whose noise can be drawn again when a run resumes.

  Its state counts the sums, and each has noise of its own.
  """

  _GlobalState = collections.namedtuple(
    '_GlobalState', ['l2_norm_clip', 'stddev', 'num_results']
  )

  def __init__(self, l2_norm_clip: float, stddev: float, seed: int):
    """Initialises the query.

    Args:
      l2_norm_clip: Longest record.
      stddev: Standard deviation of the noise of each element of the sum.
      seed: The run's seed.
    """
    super().__init__(l2_norm_clip, stddev)
    self._seed = seed

  def initial_global_state(self) -> Any:
    """Returns the state before the first sum."""
    return self._GlobalState(
      tf.constant(self._l2_norm_clip, tf.float32),
      tf.constant(self._stddev, tf.float32),
      tf.constant(0, tf.int32),
    )

  def get_noised_result(
    self, sample_state: Any, global_state: Any
  ) -> tuple[Any, Any, dp_accounting.DpEvent]:
    """Returns the sum with noise, the next state, and what it costs."""
    noised = [
      tensor
      + tf.random.stateless_normal(
        tf.shape(tensor),
        random_seeds.stateless_seed(
          self._seed,
          random_seeds.Purpose.PRIVACY_NOISE,
          global_state.num_results,
          index,
        ),
        stddev=global_state.stddev,
      )
      for index, tensor in enumerate(tf.nest.flatten(sample_state))
    ]
    return (
      tf.nest.pack_sequence_as(sample_state, noised),
      global_state._replace(num_results=global_state.num_results + 1),
      dp_accounting.GaussianDpEvent(
        global_state.stddev / global_state.l2_norm_clip
      ),
    )
