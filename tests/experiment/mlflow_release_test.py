# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of releasing metrics to MLflow, in a temporary folder."""

import asyncio
import math
import os
import pathlib
import sys
from unittest import mock

from absl.testing import absltest

from tests.experiment import some_metrics
from tff_semifl.experiment import mlflow_release

_SETTINGS = {'total_rounds': 2, 'seed': 5, 'unset': None, 'system': 'semifl'}


class WithoutMLflowTest(absltest.TestCase):
  def test_error_says_what_to_install(self):
    with (
      mock.patch.dict(sys.modules, {'mlflow': None}),
      self.assertRaisesRegex(
        ModuleNotFoundError, "pip install 'mlflow-skinny<2.18'"
      ),
    ):
      mlflow_release.create(pathlib.Path('nowhere'), _SETTINGS)


class MLflowReleaseTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.create_tempdir().full_path)
    self._path = folder / 'mine'
    self._path.mkdir()
    variables = {
      'MLFLOW_TRACKING_URI': (folder / 'mlruns').as_uri(),
      'MLFLOW_EXPERIMENT_NAME': 'letters',
    }
    self.enter_context(mock.patch.dict(os.environ, variables))

  def _release(self, manager, round_num, accuracy):
    metrics = some_metrics.create(accuracy, math.nan, 3.0)
    asyncio.run(manager.release(metrics, round_num))

  def _client(self):
    import mlflow

    return mlflow.MlflowClient()

  def _runs(self):
    client = self._client()
    experiment = client.get_experiment_by_name('letters')
    return client.search_runs([experiment.experiment_id])

  def test_a_run_that_is_resumed_is_one_run(self):
    manager = mlflow_release.create(self._path, _SETTINGS)
    self._release(manager, 0, 0.25)
    resumed = mlflow_release.create(self._path, _SETTINGS | {'seed': 6})
    self._release(resumed, 1, 0.5)
    [run] = self._runs()
    self.assertEqual(run.info.run_name, 'mine')
    self.assertEqual(run.info.status, 'RUNNING')
    self.assertEqual(
      run.data.params, {'total_rounds': '2', 'seed': '5', 'system': 'semifl'}
    )
    self._release(resumed, 2, 0.75)
    [run] = self._runs()
    self.assertEqual(run.info.status, 'FINISHED')
    self.assertEqual(
      [
        (metric.step, metric.value)
        for metric in self._client().get_metric_history(
          run.info.run_id, 'test/accuracy'
        )
      ],
      [(0, 0.25), (1, 0.5), (2, 0.75)],
    )
    self.assertEqual(run.data.metrics['seconds'], 3.0)
    self.assertNotIn('client/label_ratio', run.data.metrics)

  def test_classes_of_any_name_and_an_early_end(self):
    manager = mlflow_release.create(self._path, _SETTINGS)
    metrics = some_metrics.create(0.5, math.nan, 3.0)._replace(
      further={'test/recall/a:b, c': 0.25, 'test/auc': math.nan}
    )
    asyncio.run(manager.release(metrics, 1))
    manager.finish()
    [run] = self._runs()
    self.assertEqual(run.data.metrics['test/recall/a_b_ c'], 0.25)
    self.assertNotIn('test/auc', run.data.metrics)
    self.assertEqual(run.info.status, 'FINISHED')


if __name__ == '__main__':
  absltest.main()
