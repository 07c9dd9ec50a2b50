# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of releasing metrics to MLflow, in a temporary folder."""

import asyncio
import math
import os
import pathlib
from unittest import mock

from absl.testing import absltest
import mlflow

from examples import mlflow_release


class MLflowReleaseTest(absltest.TestCase):
  def test_a_run_that_is_resumed_is_one_run(self):
    folder = pathlib.Path(self.create_tempdir('mine').full_path)
    variables = {
      'MLFLOW_TRACKING_URI': (folder / 'mlruns').as_uri(),
      'MLFLOW_EXPERIMENT_NAME': 'letters',
    }
    with mock.patch.dict(os.environ, variables):
      for number in range(2):
        settings = {'seed': 5 + number, 'unset': None}
        manager = mlflow_release.create(folder, settings)
        metrics = {'test/recall/a:b, c': number / 2, 'test/auc': math.nan}
        asyncio.run(manager.release(metrics, number))
      mlflow.end_run()
      client = mlflow.MlflowClient()
      experiment = client.get_experiment_by_name('letters')
      [run] = client.search_runs([experiment.experiment_id])
      history = client.get_metric_history(run.info.run_id, 'test/recall/a_b_ c')
    self.assertEqual(run.info.run_name, 'mine')
    self.assertEqual(run.data.params, {'seed': '5'})
    self.assertNotIn('test/auc', run.data.metrics)
    self.assertEqual([(m.step, m.value) for m in history], [(0, 0.0), (1, 0.5)])


if __name__ == '__main__':
  absltest.main()
