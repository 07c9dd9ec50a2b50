# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the record of a run, read from its folder."""

import contextlib
import io
import pathlib
import shutil

import pytest
import tensorflow as tf

from tasks import digits
from tests.models.frozen import small_backbone
from tff_semifl import runtime
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import python_experiment
from tff_semifl.experiment import running
from tff_semifl.results import run_record


@pytest.mark.slow
class RunRecordTest(tf.test.TestCase):
  def test_run_on_features_is_examined_on_its_images(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    small_backbone.create_network(1.0).save(folder / 'mine.keras')
    cache = folder / 'cache'
    with contextlib.redirect_stderr(io.StringIO()):
      experiment = python_experiment.create_experiment(
        'client_priors',
        digits.Digits(),
        model=f'frozen:{folder / "mine.keras"}',
        feature_cache=str(cache),
        output_dir=str(folder),
        tensorboard=False,
        num_labeled=20,
        num_validation=10,
        num_clients=10,
        partition='classes',
        classes_per_client=2,
        total_rounds=1,
      )
    opened = experiment_folder.open_folder(experiment)
    with runtime.simulation_context():
      final = running.run(experiment, opened, quiet=True)
    # Reports do not compute features.
    shutil.rmtree(cache)
    with contextlib.redirect_stderr(io.StringIO()):
      found = run_record.read(opened.path)
    self.assertIsNone(found.why_not_evaluated)
    self.assertEqual(found.kind, 'validation')
    scores = found.evaluated.scores
    self.assertAllEqual(scores.labels, experiment.data.test.labels)
    self.assertAlmostEqual(scores.accuracy, final.accuracy, places=6)
    for each in found.evaluated.wrong:
      self.assertEqual(each.image.shape, experiment.task.outside.image_shape)
    # The labels alone, with clients, the gain, and how much clients differ.
    self.assertGreaterEqual(len(found.result), 4)
    self.assertIn(f'{final.accuracy:.1%}', found.result[1])


if __name__ == '__main__':
  tf.test.main()
