# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Counts the rounds in which clients had no pseudo-label to train on."""

import numpy as np

from tff_semifl.runs import metrics_table

_COLUMN = 'client/label_ratio'


def describe(
  metrics: metrics_table.Metrics, confidence_threshold: float | None
) -> str | None:
  """A line, if at least half of the evaluated rounds had no pseudo-label.

  Args:
    metrics: The metrics of a run.
    confidence_threshold: The setting, or None if the system may not use it.
  """
  if _COLUMN not in metrics:
    return None
  ratios = metrics[_COLUMN][metrics['round'] > 0]
  # Undefined in rounds without clients.
  ratios = ratios[~np.isnan(ratios)]
  num_idle = np.count_nonzero(ratios == 0)
  # Early rounds often have none.
  if not num_idle or num_idle < len(ratios) / 2:
    return None
  line = (
    f'clients trained on nothing in {num_idle} of {len(ratios)} evaluated'
    ' rounds: they had no confident pseudo-label'
  )
  if confidence_threshold is not None:
    line += (
      f'. A --confidence_threshold below {confidence_threshold:g} keeps more of'
      ' them'
    )
  return line
