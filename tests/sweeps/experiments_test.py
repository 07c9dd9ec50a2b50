# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of when an experiment of a sweep is complete."""

import pathlib

from absl.testing import absltest

from tff_semifl.sweeps import entries
from tff_semifl.sweeps import experiments


class ExperimentsTest(absltest.TestCase):
  def test_complete_with_last_round_and_export(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    one = experiments.Experiment(
      name='semifl_my_seed0',
      command=(),
      log_path=folder / 'semifl_my_seed0.log',
      entry=entries.Entry('semifl_my', 'semifl', 'my.flags', None),
      folder=folder / 'semifl_my_seed0',
      total_rounds=1,
    )
    self.assertFalse(one.is_complete())
    (one.folder / 'export').mkdir(parents=True)
    (one.folder / 'export' / 'saved_model.pb').touch()
    metrics = one.folder / 'metrics.csv'
    lines = [
      'round,test/accuracy,test/best_accuracy,seconds\n',
      '0,0.5,0.5,60\n',
      '1,0.25,0.5,30\n',
    ]
    for number in range(3):
      metrics.write_text(''.join(lines[:number]))
      if number:
        self.assertFalse(one.is_complete())
    metrics.write_text(''.join(lines))
    self.assertTrue(one.is_complete())
    self.assertEqual(one.read_results(), (1, 0.25, 0.5, 1.5))
    (one.folder / 'export' / 'saved_model.pb').unlink()
    self.assertFalse(one.is_complete())
    (one.folder / 'export' / 'model_float32.tflite').touch()
    self.assertTrue(one.is_complete())


if __name__ == '__main__':
  absltest.main()
