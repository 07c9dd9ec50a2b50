# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Metrics of rounds for tests."""

from tff_semifl.experiment import round_metrics


def create(
  accuracy: float, label_ratio: float, seconds: float
) -> round_metrics.RoundMetrics:
  """Returns metrics of a round; all but the given values are 0."""
  return round_metrics.RoundMetrics(
    test=round_metrics.EvaluationMetrics(accuracy, 0.0, accuracy),
    server=round_metrics.ServerMetrics(0.0, 0.0),
    client=round_metrics.ClientMetrics(
      **dict.fromkeys(round_metrics.ClientMetrics._fields, 0.0)
    )._replace(label_ratio=label_ratio),
    learning_rate=0.0,
    seconds=seconds,
    aggregator={},
  )
