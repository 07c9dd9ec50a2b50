# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The result of a run in words: metrics with intervals, the system's lines."""

from collections.abc import Iterator
import functools
import pathlib

from tff_semifl.experiments import evaluated_images
from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.files import durable_files
from tff_semifl.metrics import bootstrap
from tff_semifl.metrics import measurement
from tff_semifl.metrics import metric as metric_lib
from tff_semifl.models import functional
from tff_semifl.runs import metrics_table
from tff_semifl.runs import outputs
from tff_semifl.runs import saved_experiment
from tff_semifl.systems import system

RESULT = 'result.txt'


def write_by_system(
  experiment: experiment_lib.Experiment,
  folder: outputs.ExperimentFolder,
  kept: saved_experiment.TrainedModel,
) -> None:
  """Writes the system's own lines on the result, if it has any."""
  metrics = metrics_table.read_metrics(folder.metrics_path)
  labeled = experiment.data.labeled
  mapped = experiment.mapped_images
  if mapped is not None:
    labeled = labeled._replace(images=mapped.read(labeled.images).numpy())
  lines = experiment.settings.system.describe_result(
    system.Trained(
      experiment.classifier,
      kept.weights,
      kept.round_num,
      labeled,
      functools.partial(evaluated_images.find_right, experiment),
      {name: values[-1] for name, values in metrics.items() if len(values)},
    )
  )
  path = folder.path / RESULT
  if content := ''.join(f'{line}\n' for line in lines):
    with durable_files.naming(path), durable_files.replacing(path) as file:
      file.write(content.encode())


def read_by_system(folder: pathlib.Path) -> list[str]:
  """The lines that `write_by_system` wrote, if any."""
  path = folder / RESULT
  try:
    return path.read_text().splitlines()
  except FileNotFoundError:
    return []
  except (OSError, ValueError) as error:
    raise durable_files.OutputError(
      f'{path} cannot be read ({error}); the same command writes it anew'
    ) from error


def describe(
  experiment: experiment_lib.Experiment, weights: functional.ModelWeights
) -> Iterator[str]:
  """Yields a line for each chosen metric that is not by class."""
  measure = experiment.measure
  if not isinstance(measure, measurement.Measurement):
    return
  kind = 'validation' if experiment.settings.validates else 'test'
  labels = experiment.data.test.labels
  logits = evaluated_images.compute_logits(experiment, weights)
  values = measure(logits)
  for metric in measure.metrics:
    if metric.by_class:
      continue
    line = f'{kind} {metric.name}: {values[metric.name]:.4g}'
    # Resampling a user's metric may take long.
    if metric_lib.is_own(metric.name):
      low, high = bootstrap.interval(metric.compute, labels, logits)
      line += f' (95% interval {low:.4g} to {high:.4g}, bootstrap)'
    yield line
