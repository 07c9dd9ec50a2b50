# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Logs metrics to MLflow; needs the package 'mlflow-skinny<2.18'.

python -m launch.train semifl --release_managers=examples.mlflow_release:create
"""

import math
import pathlib
import re

import mlflow
import tensorflow_federated as tff


def create(path: pathlib.Path, settings: dict) -> 'MLflowManager':
  """Starts an MLflow run, or resumes the run whose ID is in the folder."""
  file = path / 'mlflow_run_id.txt'
  mlflow.end_run()
  if file.exists():
    return MLflowManager(mlflow.start_run(file.read_text()).info.run_id)
  run = mlflow.start_run(run_name=path.name)
  mlflow.log_params({k: v for k, v in settings.items() if v is not None})
  file.write_text(run.info.run_id)
  return MLflowManager(run.info.run_id)


class MLflowManager(tff.program.ReleaseManager):
  """Logs the metrics of each evaluated round; at exit, MLflow ends the run."""

  def __init__(self, run_id: str):
    self._run_id = run_id

  async def release(self, value: dict, key: int) -> None:
    """Logs each column; characters that MLflow refuses become underscores."""
    metrics = {re.sub(r'[^\w\-. /]', '_', k): v for k, v in value.items()}
    metrics = {k: v for k, v in metrics.items() if not math.isnan(v)}
    mlflow.log_metrics(metrics, step=key, run_id=self._run_id)
