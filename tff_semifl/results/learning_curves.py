# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Figures of metrics by round, such as learning curves."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib
from matplotlib import axes as axes_lib
from matplotlib import figure
from matplotlib import lines
from matplotlib import ticker
import numpy as np

from tff_semifl.experiment import metrics_table
from tff_semifl.plots import figures

# Columns that are undefined in a round without confident pseudo-labels.
_OF_CONFIDENT_LABELS = (
  'client/threshold_accuracy',
  'client/micro_threshold_accuracy',
)
# The palette of Okabe and Ito, for any color vision. Colors and line styles
# distinguish 28 curves; successive curves differ even in gray.
_COLORS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9')
_COLORS += ('#000000',)
_STYLES = ('-', '--', '-.', ':')
# In inches and points: three panels fill the width of a page.
_PANEL_SIZE = (2.4, 2.2)
_LEGEND_LINE = 0.2
_FONT_SIZE = 8
_TITLE_SIZE = 9.6


class Panel(NamedTuple):
  """A panel of a figure, which plots a column of `metrics.csv` by round.

  `unit` is the label of the vertical axis. Values are multiplied by `scale`;
  the default turns fractions into percentages.
  """

  column: str
  title: str
  unit: str
  scale: float = 100.0


LEARNING_CURVES = (
  Panel('test/accuracy', 'Test accuracy', '% of test images'),
  Panel('validation/accuracy', 'Validation accuracy', '% of validation images'),
  Panel('client/label_ratio', 'Label ratio', '% of images'),
  Panel(
    'client/micro_threshold_accuracy', 'Accuracy above threshold', '% of labels'
  ),
)
_PANELS = {panel.column: panel for panel in LEARNING_CURVES}

# Runs by name in the legend; runs with the same name differ only in the seed.
Experiments = Mapping[str, Sequence[metrics_table.Metrics]]


def create_panel(column: str) -> Panel:
  """The panel of a column; outside `LEARNING_CURVES`, values are not scaled."""
  return _PANELS.get(column, Panel(column, column, '', 1.0))


def create_figure(
  experiments: Experiments, panels: Sequence[Panel], title: str
) -> figure.Figure:
  """A figure of panels side by side, with a learning curve for each name.

  Runs with the same name become one curve: the mean over the rounds that all
  runs have, with a band of one standard deviation. Bands of percentages are
  clipped to 0..100. Curves without values above 0, and panels without curves,
  are left out. Undefined values are gaps: `client/` columns in round 0, and the
  accuracy of confident pseudo-labels if no pseudo-label is confident.
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
  width *= len(curves)
  labels = [
    figures.wrap(f'{name} ({len(runs)} runs)' if len(runs) > 1 else name)
    for name, runs in experiments.items()
  ]
  num_lines = sum(label.count('\n') + 1 for label in labels)
  title = figures.wrap(title, 30 * len(curves))
  height += _LEGEND_LINE * (num_lines + title.count('\n'))
  with matplotlib.rc_context({'font.size': _FONT_SIZE}):
    fig = figure.Figure((width, height), layout='constrained')
    fig.get_layout_engine().set(w_pad=0.08)
    fig.suptitle(title, fontsize=_TITLE_SIZE)
    [all_axes] = fig.subplots(ncols=len(curves), sharex=True, squeeze=False)
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
          in_legend[number] = _draw_curve(
            axes,
            drawn[name],
            limits=(0, 100) if panel.scale == 100 else None,
            label=labels[number],
            color=_COLORS[number % len(_COLORS)],
            linestyle=_STYLES[number % len(_STYLES)],
          )
    has_bands = any(len(runs) > 1 for runs in experiments.values())
    fig.legend(
      handles=[in_legend[number] for number in sorted(in_legend)],
      title='mean ± standard deviation of runs' if has_bands else None,
      loc='outside lower center',
    )
  return fig


def _draw_curve(
  axes: axes_lib.Axes,
  runs: Sequence[Mapping[int, float]],
  *,
  limits: tuple[float, float] | None,
  color: str,
  **line_style: str,
) -> lines.Line2D:
  rounds = sorted(set.intersection(*map(set, runs)))
  values = np.array([[run[round_num] for round_num in rounds] for run in runs])
  mean = values.mean(axis=0)
  if len(runs) > 1:
    deviation = values.std(axis=0, ddof=1)
    band = np.stack([mean - deviation, mean + deviation])
    axes.fill_between(
      rounds,
      *(band if limits is None else np.clip(band, *limits)),
      color=color,
      alpha=0.2,
      linewidth=0,
    )
  # A point between two gaps has no line, and therefore gets a marker.
  is_drawn = np.pad(np.isfinite(mean), 1)
  is_alone = is_drawn[1:-1] & ~is_drawn[:-2] & ~is_drawn[2:]
  [line] = axes.plot(
    rounds,
    mean,
    marker='.' if np.any(is_alone) else None,
    markevery=np.flatnonzero(is_alone).tolist(),
    color=color,
    linewidth=1.2,
    **line_style,
  )
  return line


def _by_round(run: metrics_table.Metrics, panel: Panel) -> dict[int, float]:
  """The values of a panel by round, NaN where undefined."""
  column = panel.column
  values = panel.scale * run[column]
  has_meaning = np.ones(len(values), bool)
  if column in _OF_CONFIDENT_LABELS:
    has_meaning = run.get('client/label_ratio', values) > 0
  elif column.startswith('client/'):
    has_meaning = run['round'] > 0
  values = np.where(has_meaning, values, np.nan)
  return dict(zip(run['round'].astype(int).tolist(), values, strict=True))
