# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""TFF's own federated analytics give the same on both runtimes.

With strings and integers, tables and hashes, where learning has floats.
"""

import collections

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

from tests.runtime import agreement

# What clients have typed.
_WORDS = (['the', 'cat', 'the'], ['the', 'dog'], ['cat'])
_COUNTS = {b'the': 3, b'cat': 2, b'dog': 1}


def _replace_secure(computation):
  return tff.backends.test.replace_secure_intrinsics_with_bodies(computation)


class TffAnalyticsTest(agreement.AgreementTestCase):
  @parameterized.parameters(False, True)
  def test_number_of_distinct_words(self, is_secure):
    count = (
      tff.analytics.count_distinct.create_federated_hyperloglog_computation(
        use_secagg=is_secure
      )
    )
    estimate = self.assert_agree(_replace_secure(count), list(_WORDS))
    self.assertGreater(estimate, 0)
    # Fewer words, another estimate.
    self.assertLess(
      self.assert_agree(_replace_secure(count), [['the']]), estimate
    )

  @pytest.mark.slow
  def test_heavy_hitters(self):
    find = tff.analytics.heavy_hitters.iblt.build_iblt_computation(
      capacity=20, string_max_bytes=5, secure_sum_bitwidth=8
    )
    datasets = [
      tf.data.Dataset.from_tensor_slices(words).batch(1) for words in _WORDS
    ]
    # Each runtime finds them in another order, and says when it did.
    for context in (self.in_process, self.native):
      with self.use(context):
        found = _replace_secure(find)(datasets)
      self.assertEqual(found['clients'], 3)
      self.assertEqual(
        dict(
          zip(
            found['heavy_hitters'], found['heavy_hitters_counts'], strict=True
          )
        ),
        _COUNTS,
      )

  @pytest.mark.slow
  def test_sums_of_vectors_by_word(self):
    entry_type = collections.OrderedDict(
      key=np.str_, value=tff.TensorType(np.int64, [2])
    )
    process = tff.analytics.IbltFactory(
      capacity=10, string_max_bytes=5, repetitions=3
    ).create(tff.SequenceType(entry_type))
    datasets = [
      tf.data.Dataset.from_tensor_slices(
        collections.OrderedDict(key=keys, value=np.array(values, np.int64))
      )
      for keys, values in (
        (['a', 'b'], [[1, 2], [3, 4]]),
        (['b', 'c'], [[10, 20], [5, 6]]),
      )
    ]
    for context in (self.in_process, self.native):
      with self.use(context):
        found = process.next(process.initialize(), datasets).result
      sums = zip(
        found.output_strings, found.string_values.tolist(), strict=True
      )
      self.assertEqual(dict(sums), {b'a': [1, 2], b'b': [13, 24], b'c': [5, 6]})

  @pytest.mark.slow
  def test_histogram(self):
    process = tff.analytics.build_hierarchical_histogram_process(
      0.0, 4.0, num_bins=4
    )
    find = _replace_secure(process.next)
    histograms = []
    for context in (self.in_process, self.native):
      with self.use(context):
        state = process.initialize()
        output, _ = find(state, [[1.0, 2.0, 2.5], [0.5], [3.0, 3.0]])
      histograms.append(output['aggregated_hierarchical_histogram'])
    self.assert_same(*histograms)
    # All six; by halves; by quarters.
    self.assertAllEqual(histograms[0]['flat_values'], [6, 2, 4, 1, 1, 2, 2])


if __name__ == '__main__':
  tf.test.main()
