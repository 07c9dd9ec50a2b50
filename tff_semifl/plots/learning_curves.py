# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pictures of metrics by round, such as learning curves."""

from collections.abc import Mapping, Sequence
import math

import matplotlib
from matplotlib import axes as axes_lib
from matplotlib import figure
from matplotlib import lines
from matplotlib import ticker
import numpy as np

from tff_semifl.plots import curve_colors
from tff_semifl.plots import curve_panels
from tff_semifl.plots import picture_text
from tff_semifl.runs import metrics_table

# Accuracies of the labels that were trained on, without a meaning if there were
# none.
_OF_CONFIDENT_LABELS = (
  'client/threshold_accuracy',
  'client/micro_threshold_accuracy',
)
# They differ in a gray print, too.
_STYLES = ('-', '--', '-.', ':')
_REFERENCE_COLOR = '0.3'
_REFERENCE_STYLES = _STYLES[1:]
# Sizes in inches and points: three panels have the width of a page, and text
# the size of a caption.
_PANEL_SIZE = (2.4, 2.2)
_LEGEND_LINE = 0.2
# Without the text of an entry: its line, and gaps.
_LEGEND_ENTRY = 0.55
_FONT_SIZE = 8
_TITLE_SIZE = 9.6

# The runs by their name in the legend. Runs of the same name differ only in
# their seeds.
Experiments = Mapping[str, Sequence[metrics_table.Metrics]]


def create_figure(
  experiments: Experiments,
  panels: Sequence[curve_panels.Panel],
  title: str,
  references: Experiments | None = None,
) -> figure.Figure:
  """Creates a picture of panels side by side, with a curve for each name.

  The curve of several runs is their mean, in a band of one standard deviation
  to both sides (of percentages within 0 and 100), over the rounds that all of
  them have. A curve that is nowhere above 0 is left out, for example if clients
  made no pseudo-labels or their true labels are not known. A panel without
  curves is left out, too. A curve has a gap where nothing was measured, even if
  the table has 0 there: columns of clients in round 0, in which no client takes
  part, and the accuracy of labels that were trained on where there were none.

  Args:
    experiments: The runs to draw.
    panels: The panels, from left to right.
    title: Title of the picture.
    references: Runs that are drawn as horizontal lines, at the mean of what
      they have after their last rounds; by default none.

  Returns:
    The figure.

  Raises:
    metrics_table.MetricsError: If there is nothing to draw.
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
  references = references or {}
  width, height = _PANEL_SIZE
  width *= len(curves)
  labels = picture_text.wrap_names(
    [
      *(_label(name, len(runs)) for name, runs in experiments.items()),
      *(
        _label(f'{name}, last round', len(runs))
        for name, runs in references.items()
      ),
    ],
    width - _LEGEND_ENTRY,
    _FONT_SIZE,
  )
  num_columns = int(width / (labels.length + _LEGEND_ENTRY))
  num_columns = min(max(num_columns, 1), len(curves))
  num_rows = math.ceil(len(labels.texts) / num_columns)
  height += num_rows * max(labels.height, _LEGEND_LINE)
  title = picture_text.wrap(title, width, _TITLE_SIZE)
  height += _LEGEND_LINE * title.count('\n')
  colors = curve_colors.choose(len(experiments))
  with matplotlib.rc_context({'font.size': _FONT_SIZE}):
    picture = figure.Figure((width, height), layout='constrained')
    picture.get_layout_engine().set(w_pad=0.08)
    picture.suptitle(title, fontsize=_TITLE_SIZE)
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
          in_legend[number] = _draw_curve(
            axes,
            drawn[name],
            limits=(0, 100) if panel.scale == 100 else None,
            label=labels.texts[number],
            color=colors[number],
            linestyle=_STYLES[number % len(_STYLES)],
          )
      for number, runs in enumerate(references.values(), len(experiments)):
        last = _last_mean(runs, panel)
        if last > 0:
          in_legend[number] = axes.axhline(
            last,
            label=labels.texts[number],
            color=_REFERENCE_COLOR,
            linestyle=_REFERENCE_STYLES[number % len(_REFERENCE_STYLES)],
            linewidth=1.0,
          )
    has_bands = any(len(runs) > 1 for runs in experiments.values())
    picture.legend(
      handles=[in_legend[number] for number in sorted(in_legend)],
      title='mean ± standard deviation of runs' if has_bands else None,
      loc='outside lower center',
      ncols=num_columns,
    )
  return picture


def _label(name: str, num_runs: int) -> str:
  return f'{name} ({num_runs} runs)' if num_runs > 1 else name


def _draw_curve(
  axes: axes_lib.Axes,
  runs: Sequence[Mapping[int, float]],
  *,
  limits: tuple[float, float] | None,
  color: str,
  **line_style: str,
) -> lines.Line2D:
  """Draws the curve of one or more runs, their band within limits."""
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
  # A point between two gaps has no line, and so gets a marker.
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


def _last_mean(
  runs: Sequence[metrics_table.Metrics], panel: curve_panels.Panel
) -> float:
  """Returns the mean of the runs' last values, NaN if one has none."""
  if not all(panel.column in run for run in runs):
    return math.nan
  return float(np.mean([[*_by_round(run, panel).values()][-1] for run in runs]))


def _by_round(
  run: metrics_table.Metrics, panel: curve_panels.Panel
) -> dict[int, float]:
  """Returns the values of a panel by round, NaN where they have no meaning."""
  column = panel.column
  values = panel.scale * run[column]
  has_meaning = np.ones(len(values), bool)
  if column in _OF_CONFIDENT_LABELS:
    has_meaning = run.get('client/label_ratio', values) > 0
  elif column.startswith('client/'):
    has_meaning = run['round'] > 0
  values = np.where(has_meaning, values, np.nan)
  return dict(zip(run['round'].astype(int).tolist(), values, strict=True))
