# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Describes the metrics of the exported model, with intervals."""

from collections.abc import Iterator
import functools

from tff_semifl.experiments import evaluated_images
from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.experiments import kept_model
from tff_semifl.metrics import bootstrap
from tff_semifl.metrics import measurement
from tff_semifl.metrics import metric as metric_lib
from tff_semifl.models import functional
from tff_semifl.runs import metrics_table
from tff_semifl.runs import outputs
from tff_semifl.systems import system


def describe_by_system(
  experiment: experiment_lib.Experiment,
  folder: outputs.ExperimentFolder,
  kept: kept_model.KeptModel,
) -> Iterator[str]:
  """The system's own lines on the result.

  Args:
    experiment: The experiment.
    folder: Its folder.
    kept: The model that is exported.
  """
  metrics = metrics_table.read_metrics(folder.metrics_path)
  labeled = experiment.data.labeled
  mapped = experiment.training_program.mapped_images
  if mapped is not None:
    labeled = labeled._replace(images=mapped.read(labeled.images).numpy())
  return experiment.settings.system.describe_result(
    system.Trained(
      experiment.classifier,
      kept.weights,
      kept.round_num,
      labeled,
      functools.partial(evaluated_images.find_right, experiment),
      {name: values[-1] for name, values in metrics.items() if len(values)},
    )
  )


def describe(
  experiment: experiment_lib.Experiment, weights: functional.ModelWeights
) -> Iterator[str]:
  """Yields a line for each chosen metric that is not by class."""
  measure = experiment.training_program.measure
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
