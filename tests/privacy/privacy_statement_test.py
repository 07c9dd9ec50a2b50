# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the privacy statement of a model."""

import dataclasses
import math
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import pytest

from tests.export import small_model
from tff_semifl.export import exported_model
from tff_semifl.export import saved_model
from tff_semifl.export import tflite
from tff_semifl.privacy import privacy_statement

_STATEMENT = privacy_statement.PrivacyStatement(
  epsilon=3.25,
  delta=1e-5,
  num_rounds=30,
  num_clients=100,
  clients_per_round=10,
  noise_multiplier=4.0,
  clipping_norm=0.5,
)
_NONE = dataclasses.replace(
  _STATEMENT, epsilon=None, why_not_private='everybody knows the key'
)


class PrivacyStatementTest(parameterized.TestCase):
  def test_says_what_is_promised_and_what_is_not(self):
    self.assertEqual(
      _STATEMENT.headline, 'epsilon 3.25 at delta 1e-05 after 30 rounds'
    )
    details = dict(_STATEMENT.details)
    self.assertIn('10 of 100 clients', details['mechanism'])
    self.assertIn('without replacement', details['sampling'])
    self.assertContainsSubset(['noise', 'covered', 'not covered'], details)

  @parameterized.parameters(
    # A guess is wrong in one of 1 + e^epsilon cases.
    (0.0, False, 'a strong guarantee', '50.0%'),
    (1.0, False, 'a strong guarantee', '73.1%'),
    (3.25, False, 'a reasonable guarantee', '96.3%'),
    (10.0, False, 'a reasonable guarantee', 'more than 99.9%'),
    (math.inf, True, 'a weak guarantee', 'more than 99.9%'),
  )
  def test_says_what_epsilon_means(self, epsilon, is_weak, strength, success):
    statement = dataclasses.replace(_STATEMENT, epsilon=epsilon)
    self.assertEqual(statement.is_weak, is_weak)
    self.assertIn(strength, statement.meaning)
    self.assertIn(f' in {success} of cases', statement.meaning)

  def test_claims_nothing_where_nothing_is_private(self):
    self.assertEmpty(_NONE.meaning)
    self.assertFalse(_NONE.is_weak)
    self.assertEqual(_NONE.headline, 'none: everybody knows the key')
    self.assertEmpty(_NONE.details)

  @parameterized.parameters(_STATEMENT, _NONE)
  def test_is_read_as_it_was_written(self, statement):
    self.assertEqual(
      privacy_statement.from_json(statement.to_json()), statement
    )

  @parameterized.parameters(
    '',
    '{"epsilon": 1, "not_covered": []}',
    _STATEMENT.to_json().replace('3.25', '"much"'),
    _STATEMENT.to_json().replace('"delta"', '"gamma"'),
  )
  def test_what_is_none_is_refused(self, text):
    with self.assertRaisesRegex(ValueError, '^it is no privacy statement: '):
      privacy_statement.from_json(text)

  @pytest.mark.slow
  def test_travels_with_models_of_both_formats(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    model = small_model.create((8, 12, 1))
    saved_model.export_saved_model(
      model, small_model.CLASS_NAMES, folder / 'export', _STATEMENT
    )
    (folder / 'model.tflite').write_bytes(
      tflite.convert(
        model,
        small_model.CLASS_NAMES,
        tflite.Precision.FLOAT32,
        privacy=_STATEMENT,
      )
    )
    for name in ('export', 'model.tflite'):
      loaded = tflite.load(folder / name)
      self.assertEqual(loaded.privacy, _STATEMENT)
      self.assertEqual(loaded.class_names, small_model.CLASS_NAMES)
    (folder / 'export' / 'privacy.json').write_text('{')
    with self.assertRaisesRegex(
      exported_model.ExportedModelError, '/privacy.json is damaged: '
    ):
      tflite.load(folder / 'export')
    # Models without differential privacy have no such file.
    (folder / 'export' / 'privacy.json').unlink()
    self.assertIsNone(tflite.load(folder / 'export').privacy)


if __name__ == '__main__':
  absltest.main()
