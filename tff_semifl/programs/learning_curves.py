# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pictures of how experiments went: accuracy, and what clients labelled."""

from collections.abc import Mapping, Sequence
import math
from typing import NamedTuple

import matplotlib
from matplotlib import axes as axes_lib
from matplotlib import figure
from matplotlib import lines
from matplotlib import ticker
import numpy as np

from tff_semifl.programs import metrics_table


class Panel(NamedTuple):
  """A part of a picture: a column of `metrics.csv` by round.

  Attributes:
    column: Its name.
    title: What it is.
    unit: Of values, or of what they are percentages.
    scale: What values are multiplied by; fractions become percentages.
  """

  column: str
  title: str
  unit: str
  scale: float = 100.0


_LABEL_RATIO = Panel('client/label_ratio', 'Label ratio', '% of images')
LEARNING_CURVES = (
  Panel('test/accuracy', 'Test accuracy', '% of test images'),
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
  # As averaged there (D17).
  Panel(
    'client/threshold_accuracy',
    'Accuracy above threshold',
    '% of labels',
  ),
  _LABEL_RATIO,
)

# Figures 4, E.1 and G.1 of the benchmark of Zhang et al., where it is relative.
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

# Of labels that were trained on, if there were any.
_OF_CONFIDENT_LABELS = (
  'client/threshold_accuracy',
  'client/micro_threshold_accuracy',
)
# The palette of Okabe and Ito, which any colour vision tells apart; with line
# styles, so that a print in grey does too.
_COLOURS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9')
_STYLES = ('-', '--', '-.', ':')
# Inches and points: three panels are as wide as a page, with the letters of a
# caption.
_PANEL_SIZE = (2.4, 2.2)
_LEGEND_LINE = 0.2
_FONT_SIZE = 8

# By name in the legend; runs of one name differ in their seeds only.
Experiments = Mapping[str, Sequence[metrics_table.Metrics]]


def create_panel(column: str) -> Panel:
  """Returns what a column is drawn as; one that is not known here as it is."""
  return _PANELS.get(column, Panel(column, column, '', 1.0))


def create_figure(
  experiments: Experiments, panels: Sequence[Panel], title: str
) -> figure.Figure:
  """Creates a picture: panels side by side, with a curve for each name.

  Several runs are one curve, their mean, in a band of one standard deviation to
  both sides, over the rounds that all of them have. A curve is left out if it
  is nowhere above 0, as that of labels that nobody made or knows the truth of;
  so is a panel without curves. There is a gap where nothing was measured, even
  if the table says 0: for clients in round 0, where none takes part, and where
  a curve would say how many of no labels are right.

  Args:
    experiments: What to draw.
    panels: What to draw of it, from left to right.
    title: What is to be seen.

  Raises:
    metrics_table.MetricsError: If no experiment has anything to be drawn.
  """
  curves = {
    panel: {
      name: [_by_round(run, panel) for run in runs if panel.column in run]
      for name, runs in experiments.items()
      if any(np.any(run.get(panel.column, 0) > 0) for run in runs)
    }
    for panel in panels
  }
  curves = {panel: drawn for panel, drawn in curves.items() if drawn}
  if not curves:
    columns = ', '.join(panel.column for panel in panels)
    raise metrics_table.MetricsError(
      f'there is nothing to draw: none of {columns} is above 0'
    )
  width, height = _PANEL_SIZE
  height += _LEGEND_LINE * math.ceil(len(experiments) / len(curves))
  with matplotlib.rc_context({'font.size': _FONT_SIZE}):
    picture = figure.Figure((width * len(curves), height), layout='constrained')
    picture.get_layout_engine().set(w_pad=0.08)
    picture.suptitle(title)
    [all_axes] = picture.subplots(ncols=len(curves), sharex=True, squeeze=False)
    in_legend = {}
    for axes, (panel, drawn) in zip(all_axes, curves.items(), strict=True):
      axes.set_title(panel.title)
      axes.set_xlabel('round')
      axes.set_ylabel(panel.unit)
      axes.xaxis.set_major_locator(
        ticker.MaxNLocator(6, integer=True, steps=[1, 2, 5, 10])
      )
      axes.grid(alpha=0.3)
      for number, name in enumerate(experiments):
        if name in drawn:
          in_legend[name] = _draw_curve(axes, name, drawn[name], number)
    has_bands = any(len(runs) > 1 for runs in experiments.values())
    picture.legend(
      handles=[in_legend[name] for name in experiments if name in in_legend],
      title='mean ± standard deviation of runs' if has_bands else None,
      loc='outside lower center',
      ncols=len(curves),
    )
  return picture


def _draw_curve(
  axes: axes_lib.Axes,
  name: str,
  runs: Sequence[Mapping[int, float]],
  number: int,
) -> lines.Line2D:
  """Draws the curve of one or more runs, in the number's colour and style."""
  rounds = sorted(set.intersection(*map(set, runs)))
  values = np.array([[run[round_num] for round_num in rounds] for run in runs])
  mean = values.mean(axis=0)
  colour = _COLOURS[number % len(_COLOURS)]
  if len(runs) > 1:
    name = f'{name} ({len(runs)} runs)'
    deviation = values.std(axis=0, ddof=1)
    axes.fill_between(
      rounds,
      mean - deviation,
      mean + deviation,
      color=colour,
      alpha=0.2,
      linewidth=0,
    )
  # A point between two gaps is no line.
  is_drawn = np.pad(np.isfinite(mean), 1)
  is_alone = is_drawn[1:-1] & ~is_drawn[:-2] & ~is_drawn[2:]
  [line] = axes.plot(
    rounds,
    mean,
    marker='.' if np.any(is_alone) else None,
    markevery=np.flatnonzero(is_alone).tolist(),
    label=name,
    color=colour,
    linestyle=_STYLES[number % len(_STYLES)],
    linewidth=1.2,
  )
  return line


def _by_round(run: metrics_table.Metrics, panel: Panel) -> dict[int, float]:
  """Returns the values of a panel, NaN where they have no meaning."""
  column = panel.column
  values = panel.scale * run[column]
  has_meaning = np.ones(len(values), bool)
  if column in _OF_CONFIDENT_LABELS:
    has_meaning = run.get('client/label_ratio', values) > 0
  elif column.startswith('client/'):
    has_meaning = run['round'] > 0
  values = np.where(has_meaning, values, np.nan)
  return dict(zip(run['round'].astype(int).tolist(), values, strict=True))
