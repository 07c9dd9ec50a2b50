# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Columns of `metrics.csv` as panels of a figure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tff_semifl.experiment import metrics_table


class Panel(NamedTuple):
  """A panel of a figure, which plots a column of `metrics.csv` by round.

  Attributes:
    column: Name of the column.
    title: Title of the panel.
    unit: Label of the vertical axis.
    scale: Factor of the values; the default turns fractions into percentages.
  """

  column: str
  title: str
  unit: str
  scale: float = 100.0


_LABEL_RATIO = Panel('client/label_ratio', 'Label ratio', '% of images')
_ALL_LABELS = Panel(
  'client/pseudo_accuracy', 'Accuracy of pseudo-labels', '% of labels'
)
_ABOVE_THRESHOLD = (
  Panel(
    'client/micro_threshold_accuracy',
    'Accuracy above threshold',
    '% of labels',
  ),
  # The average over clients, as in SemiFL's paper.
  Panel(
    'client/threshold_accuracy',
    'Accuracy above threshold',
    '% of labels',
  ),
)
LEARNING_CURVES = (
  Panel('test/accuracy', 'Test accuracy', '% of test images'),
  Panel('validation/accuracy', 'Validation accuracy', '% of validation images'),
  _LABEL_RATIO,
  _ABOVE_THRESHOLD[0],
)
# Figure 6 of SemiFL's paper, from left to right.
PSEUDO_LABEL_QUALITY = (_ALL_LABELS, _ABOVE_THRESHOLD[1], _LABEL_RATIO)

# Figures 4, E.1 and G.1 of Zhang et al. show the relative weight diversity.
WEIGHT_DIVERSITY = (
  Panel(
    'client/weight_diversity',
    'Weight diversity',
    '1 / clients if updates are equal',
    1.0,
  ),
  Panel(
    'client/relative_weight_diversity',
    'Relative weight diversity',
    '1 if updates are equal',
    1.0,
  ),
)
_PANELS = {
  panel.column: panel
  for panel in (*LEARNING_CURVES, *PSEUDO_LABEL_QUALITY, *WEIGHT_DIVERSITY)
}


def choose(
  panels: Sequence[Panel], runs: Iterable[metrics_table.Metrics]
) -> Sequence[Panel]:
  """The panels that are informative for these runs.

  If clients train on all pseudo-labels, the panel of the label ratio is left
  out, and accuracy above the threshold is named accuracy of pseudo-labels.
  """
  if any(map(_selects, runs)):
    return panels
  chosen = {}
  for panel in panels:
    if panel in _ABOVE_THRESHOLD:
      panel = panel._replace(title=_ALL_LABELS.title)
    if panel != _LABEL_RATIO:
      chosen.setdefault(panel.title, panel)
  return tuple(chosen.values())


def _selects(run: metrics_table.Metrics) -> bool:
  """Whether clients left out some pseudo-labels, but not all."""
  ratios = run.get(_LABEL_RATIO.column, np.ones_like(run['round']))
  ratios = ratios[run['round'] > 0]
  return bool(np.any(ratios > 0) and np.any(ratios < 1))


def create_panel(column: str) -> Panel:
  """The panel of a column; unknown columns are not scaled."""
  return _PANELS.get(column, Panel(column, column, '', 1.0))
