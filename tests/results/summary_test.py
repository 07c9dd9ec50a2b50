# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the tables of seeds and folds."""

import math

from absl.testing import absltest
import numpy as np

from tff_semifl.metrics import metric
from tff_semifl.results import summary


def _create(name, right, values):
  """A run that is right on some images of class 0 of two classes."""
  right = np.array(right)
  return summary.Repetition(
    name,
    3,
    np.zeros(len(right), int),
    np.stack([right, 1 - right], axis=1),
    values,
  )


class RepetitionsTest(absltest.TestCase):
  def test_seeds_have_mean_deviation_and_interval(self):
    runs = [
      _create(str(seed), [1], {'accuracy': accuracy, 'auc': auc})
      for seed, (accuracy, auc) in enumerate(
        [(0.5, 0.75), (0.6, math.nan), (0.7, 0.5)]
      )
    ]
    lines = summary.to_markdown(runs, 'seed').splitlines()
    # The deviation is 0.1, and the quantile of t 4.3027.
    self.assertEqual(
      lines[-3:],
      [
        '| 2 | 1 | 3 | 70.0% | 0.5 |',
        '| mean | | | 60.0% ± 10.0 | |',
        '| 95% interval | | | 35.2% to 84.8% | |',
      ],
    )

  def test_predictions_of_all_folds_count_together(self):
    runs = [
      _create('1/2', [1, 1, 0], {'accuracy': 2 / 3}),
      _create('2/2', [1, 1, 1, 1, 1, 0, 1], {'accuracy': 6 / 7}),
    ]
    self.assertIn('| 1/2 | 3 | 3 | 66.7% |', summary.to_markdown(runs, 'fold'))
    first, second = summary.describe_out_of_fold(
      runs, [metric.load('macro_f1')]
    )
    # Wilson's of 8 of 10.
    self.assertEqual(
      first,
      'out-of-fold accuracy: 80.0% (49.0% to 94.3%) of 10 labeled images',
    )
    # One class, with recall 0.8 and precision 1.
    self.assertStartsWith(second, 'out-of-fold macro_f1: 0.8889 (95% interval ')


if __name__ == '__main__':
  absltest.main()
