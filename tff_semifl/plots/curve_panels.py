# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Columns of `metrics.csv` as panels of a figure."""

from typing import NamedTuple


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
LEARNING_CURVES = (
  Panel('test/accuracy', 'Test accuracy', '% of test images'),
  Panel('validation/accuracy', 'Validation accuracy', '% of validation images'),
  _LABEL_RATIO,
  Panel(
    'client/micro_threshold_accuracy',
    'Accuracy above threshold',
    '% of labels',
  ),
)
# Figure 6 of SemiFL's paper, from left to right.
PSEUDO_LABEL_QUALITY = (
  Panel('client/pseudo_accuracy', 'Accuracy of pseudo-labels', '% of labels'),
  # The average over clients, as in the paper.
  Panel(
    'client/threshold_accuracy',
    'Accuracy above threshold',
    '% of labels',
  ),
  _LABEL_RATIO,
)

# Figures 4, E.1 and G.1 of Zhang et al. show the relative one.
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


def create_panel(column: str) -> Panel:
  """The panel of a column; unknown columns are not scaled."""
  return _PANELS.get(column, Panel(column, column, '', 1.0))
