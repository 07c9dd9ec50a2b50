# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A loop that clients can run at once, and the groups that did."""

from collections.abc import Iterator
import contextlib
from unittest import mock

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import stacked_leaves


def double_thrice() -> tff.Computation:
  """Returns a computation with a loop, of int32: 8 times its argument."""

  @tff.tensorflow.computation(np.int32)
  def compute(number):
    return tf.while_loop(
      lambda i, x: i < 3, lambda i, x: (i + 1, 2 * x), (0, number)
    )[1]

  return compute


@contextlib.contextmanager
def group_sizes() -> Iterator[list[int]]:
  """Yields a list to which each group that runs at once adds its size."""
  sizes = []
  run_at_once = stacked_leaves.StackedLeaf.run_at_once

  def note(leaf, inputs):
    sizes.append(len(inputs))
    return run_at_once(leaf, inputs)

  with mock.patch.object(stacked_leaves.StackedLeaf, 'run_at_once', note):
    yield sizes
