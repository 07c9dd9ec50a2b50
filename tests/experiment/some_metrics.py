# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Metrics of rounds for tests."""

from tff_semifl.experiment import metrics_table


def create(
  accuracy: float, label_ratio: float, seconds: float
) -> metrics_table.RoundMetrics:
  """Metrics of a round; all values but the given values are 0."""
  return metrics_table.RoundMetrics(
    test=metrics_table.EvaluationMetrics(accuracy, 0.0, accuracy),
    server=metrics_table.ServerMetrics(0.0, 0.0),
    client=metrics_table.ClientMetrics(
      **dict.fromkeys(metrics_table.ClientMetrics._fields, 0.0)
    )._replace(label_ratio=label_ratio),
    learning_rate=0.0,
    seconds=seconds,
    aggregator={},
  )
