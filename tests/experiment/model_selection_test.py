# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the columns of metrics, and of users' metrics."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl import settings
from tff_semifl.experiment import model_selection

_OUTSIDE = 'tests.metrics.outside'
_NAMES = ('cat', 'dog', 'owl')
_LABELS = np.array([0, 0, 1, 1])
# Right, wrong, right, wrong; two labels are among the two highest logits.
_LOGITS = np.array(
  [[2, 0, 0], [0, 2, 1], [0, 2, 0], [1, 0, 2]], dtype=np.float32
)


class MeasurementTest(parameterized.TestCase):
  def test_columns_are_in_order_and_absent_classes_empty(self):
    measure = model_selection.Measurement(
      ['recall', 'top_2', 'accuracy', 'recall'], _NAMES, _LABELS
    )
    found = measure(_LOGITS)
    self.assertEqual(
      list(found), ['recall/cat', 'recall/dog', 'recall/owl', 'top_2']
    )
    np.testing.assert_array_equal(list(found.values()), [0.5, 0.5, np.nan, 0.5])

  def test_logits_that_are_not_finite(self):
    measure = model_selection.Measurement(['auc', 'recall'], _NAMES, _LABELS)
    found = measure(np.where(_LOGITS == 2, np.inf, _LOGITS))
    self.assertTrue(np.isnan(list(found.values())).all())

  def test_directions(self):
    measure = model_selection.Measurement(
      ['macro_f1', 'nll', 'precision', f'{_OUTSIDE}:num_mistakes'],
      _NAMES,
      _LABELS,
    )
    self.assertEqual(
      [name for name, is_higher in measure.directions.items() if not is_higher],
      ['loss', 'nll', 'num_mistakes'],
    )

  @parameterized.parameters(
    ('makro_f1', 'did you mean macro_f1'),
    ('top_3', 'is the same for all models of 3 classes'),
    ('top_0', 'must be one of'),
    (f'{_OUTSIDE}:missing', 'has no missing'),
    (f'{_OUTSIDE}:NUMBER', 'is a int; must be'),
    (f'{_OUTSIDE}:macro_f1', 'has the name of another metric'),
    (f'{_OUTSIDE}:text', "failed .ValueError: returned 'good', not a number"),
    (f'{_OUTSIDE}:broken', 'failed .IndexError'),
    ('tensorflow.keras.metrics:MeanIoU', 'must be a function of labels'),
  )
  def test_refuses(self, name, message):
    with self.assertRaisesRegex(
      settings.SettingError, f'^metrics={name}: .*{message}'
    ):
      model_selection.Measurement([name], _NAMES, _LABELS)


if __name__ == '__main__':
  absltest.main()
