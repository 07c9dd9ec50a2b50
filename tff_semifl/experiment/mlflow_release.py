# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Releases metrics to MLflow.

  python -m launch.train semifl \
    --release_managers=tff_semifl.experiment.mlflow_release:create

MLflow's variables say where: MLFLOW_TRACKING_URI, by default the folder mlruns,
and MLFLOW_EXPERIMENT_NAME, by default tff_semifl. Each experiment folder is an
MLflow run of the same name, with the settings as parameters. A resumed
experiment continues the MLflow run whose identifier is in its folder.
"""

from collections.abc import Mapping
import math
import os
import pathlib
import re
from typing import Any

import tensorflow_federated as tff

from tff_semifl.experiment import metrics_table
from tff_semifl.files import durable_files

_RUN_ID_FILE = 'mlflow_run_id.txt'
_DEFAULT_EXPERIMENT = 'tff_semifl'
_FORBIDDEN = re.compile(r'[^\w\-. /]')


def create(
  path: pathlib.Path, settings: Mapping[str, Any]
) -> 'MLflowReleaseManager':
  """A manager that releases to a new or resumed run of MLflow.

  Settings that are None are left out. Raises a ValueError if MLflow lacks the
  run to resume, or cannot be reached.
  """
  try:
    import mlflow
  except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
      f'MLflow cannot be imported ({error}); install it: pip install'
      " 'mlflow-skinny<2.18'"
    ) from error
  client = mlflow.MlflowClient()
  file = path / _RUN_ID_FILE
  durable_files.require_file(file, 'remove it, and a new run of MLflow begins')
  try:
    if file.exists():
      run_id = file.read_text().strip()
      client.update_run(run_id, status='RUNNING')
    else:
      experiment = mlflow.set_experiment(
        os.environ.get('MLFLOW_EXPERIMENT_NAME', _DEFAULT_EXPERIMENT)
      )
      run = client.create_run(experiment.experiment_id, run_name=path.name)
      run_id = run.info.run_id
      given = {k: v for k, v in settings.items() if v is not None}
      mlflow.log_params(given, run_id=run_id)
      with durable_files.naming(file), durable_files.replacing(file) as opened:
        opened.write(f'{run_id}\n'.encode())
  except mlflow.MlflowException as error:
    raise ValueError(
      f'MLflow at {mlflow.get_tracking_uri()}: {error}; without {file} a new'
      ' run begins'
    ) from error
  return MLflowReleaseManager(mlflow, run_id, settings['total_rounds'])


class MLflowReleaseManager(tff.program.ReleaseManager):
  """Logs the metrics of each evaluated round to a run of MLflow."""

  def __init__(self, mlflow: Any, run_id: str, last_round: int):
    self._mlflow = mlflow
    self._run_id = run_id
    self._last_round = last_round

  async def release(self, value: metrics_table.RoundMetrics, key: int) -> None:
    """Logs a round's metrics under the names of their columns in `metrics.csv`.

    Characters that MLflow refuses, in class names, become underscores.
    """
    metrics = {
      _FORBIDDEN.sub('_', name): number
      for name, number in metrics_table.by_column(value).items()
      if not math.isnan(number)
    }
    self._mlflow.log_metrics(metrics, step=key, run_id=self._run_id)
    if key == self._last_round:
      self.finish()

  def finish(self) -> None:
    """Marks the run as complete, perhaps before its last round."""
    self._mlflow.MlflowClient().set_terminated(self._run_id)
