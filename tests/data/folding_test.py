# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of folds over datasets."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import runtime
from tff_semifl.data import folding


def _append_digit(total, element):
  number, count = total
  return 10 * number + element['digit'], count + 1


def _fold(dataset):
  return folding.fold(dataset, (0, 0), _append_digit)


class FoldTest(parameterized.TestCase):
  @parameterized.parameters(
    ([], (0, 0)), ([3], (3, 1)), ([1, 2, 3, 4], (1234, 4))
  )
  def test_elements_come_in_order(self, digits, expected):
    dataset = tf.data.Dataset.from_tensor_slices(
      {'digit': np.array(digits, np.int32)}
    )
    self.assertEqual(tuple(map(int, _fold(dataset))), expected)
    computation = tff.tensorflow.computation(
      _fold, tff.SequenceType({'digit': np.int32})
    )
    for kind in ('in_process', 'native'):
      with self.subTest(kind=kind), runtime.simulation_context(kind):
        self.assertEqual(tuple(map(int, computation(dataset))), expected)

  def test_elements_of_different_sizes(self):
    chunks = tf.data.Dataset.range(7).batch(3)
    total = folding.fold(
      chunks,
      tf.constant(0, tf.int64),
      lambda total, chunk: 10 * total + tf.reduce_sum(chunk),
    )
    self.assertEqual(int(total), 10 * (10 * (0 + 1 + 2) + 3 + 4 + 5) + 6)


if __name__ == '__main__':
  absltest.main()
