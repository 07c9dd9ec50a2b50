# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Releases metrics to MLflow.

  python -m launch.train semifl \
    --release_managers=tff_semifl.runs.mlflow_release:create

MLflow's variables say where: MLFLOW_TRACKING_URI, by default the folder mlruns,
and MLFLOW_EXPERIMENT_NAME, by default tff_semifl. Each experiment folder is an
MLflow run of the same name, with the settings as parameters. A resumed
experiment continues the MLflow run whose identifier is in its folder.
"""

from collections.abc import Mapping
import itertools
import math
import os
import pathlib
import re
import time
from typing import Any

import tensorflow_federated as tff

from tff_semifl.files import durable_files
from tff_semifl.runs import round_metrics

_RUN_ID_FILE = 'mlflow_run_id.txt'
_DEFAULT_EXPERIMENT = 'tff_semifl'
_FORBIDDEN = re.compile(r'[^\w\-. /]')
# MLflow's limit on parameters in a request.
_MAX_PARAMETERS = 100


def create(
  path: pathlib.Path, settings: Mapping[str, Any]
) -> 'MLflowReleaseManager':
  """A manager that releases to a new or resumed run of MLflow.

  Args:
    path: The folder of the experiment.
    settings: Its settings by name, among them `total_rounds`. Those that are
      None are left out.

  Raises:
    ModuleNotFoundError: If MLflow is not installed.
    ValueError: If MLflow lacks the run to resume, or cannot be reached.
  """
  try:
    import mlflow
    import mlflow.entities
    import mlflow.exceptions
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
      run_id = _create_run(mlflow, client, path.name, settings)
      with durable_files.naming(file), durable_files.replacing(file) as opened:
        opened.write(f'{run_id}\n'.encode())
  except mlflow.exceptions.MlflowException as error:
    raise ValueError(
      f'MLflow at {mlflow.get_tracking_uri()}: {error}; {file}, if it is there,'
      ' names the run, and without it a new one begins'
    ) from error
  return MLflowReleaseManager(
    mlflow, client, run_id, last_round=settings['total_rounds']
  )


class MLflowReleaseManager(tff.program.ReleaseManager):
  """Logs the metrics of each evaluated round to a run of MLflow."""

  def __init__(self, mlflow: Any, client: Any, run_id: str, last_round: int):
    self._mlflow = mlflow
    self._client = client
    self._run_id = run_id
    self._last_round = last_round

  async def release(self, value: round_metrics.RoundMetrics, key: int) -> None:
    """Logs a round's metrics under the names of their columns in `metrics.csv`.

    Characters that MLflow refuses, in class names, become underscores.
    """
    now = int(1000 * time.time())
    self._client.log_batch(
      self._run_id,
      metrics=[
        self._mlflow.entities.Metric(
          _FORBIDDEN.sub('_', name), number, now, key
        )
        for name, number in round_metrics.by_column(value).items()
        if not math.isnan(number)
      ],
    )
    if key == self._last_round:
      self.finish()

  def finish(self) -> None:
    """Marks the run as complete, perhaps before its last round."""
    self._client.set_terminated(self._run_id)


def _create_run(
  mlflow: Any, client: Any, name: str, settings: Mapping[str, Any]
) -> str:
  experiment_name = os.environ.get(
    'MLFLOW_EXPERIMENT_NAME', _DEFAULT_EXPERIMENT
  )
  experiment = client.get_experiment_by_name(experiment_name)
  experiment_id = (
    client.create_experiment(experiment_name)
    if experiment is None
    else experiment.experiment_id
  )
  run_id = client.create_run(experiment_id, run_name=name).info.run_id
  parameters = (
    mlflow.entities.Param(key, str(value))
    for key, value in settings.items()
    if value is not None
  )
  while batch := [*itertools.islice(parameters, _MAX_PARAMETERS)]:
    client.log_batch(run_id, params=batch)
  return run_id
