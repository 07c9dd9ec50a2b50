# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Describes the metrics of the exported model, with intervals."""

from collections.abc import Iterator

from tff_semifl.experiments import evaluated_images
from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.metrics import bootstrap
from tff_semifl.metrics import measurement
from tff_semifl.metrics import metric as metric_lib
from tff_semifl.models import functional


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
