# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A picture of how experiments went: accuracy, and what clients labelled."""

from collections.abc import Mapping, Sequence
import csv
import pathlib

from matplotlib import figure
from matplotlib import ticker
import numpy as np

# The palette of Okabe and Ito, which any colour vision tells apart; with line
# styles, so that a print in grey does too.
_COLOURS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9')
_STYLES = ('-', '--', '-.', ':')
_PANELS = {
  'test/accuracy': 'test accuracy (%)',
  'client/label_ratio': 'pseudo-labels trained on (% of images)',
  'client/micro_threshold_accuracy': 'of these, right (%)',
}

Metrics = Mapping[str, np.ndarray]


class MetricsError(Exception):
  """A file is no table of metrics."""


def read_metrics(file: pathlib.Path) -> Metrics:
  """Reads a `metrics.csv`.

  Args:
    file: The file.

  Returns:
    For each column the float64 values of all rounds.

  Raises:
    MetricsError: If the file cannot be read, or is something else.
  """
  try:
    with file.open(newline='') as lines:
      rows = list(csv.DictReader(lines))
    columns = {
      name: np.array([float(row[name]) for row in rows])
      for name in ('round', *_PANELS)
    }
  except OSError as error:
    raise MetricsError(f'cannot read {file}: {error.strerror}') from error
  except (KeyError, TypeError, ValueError) as error:
    raise MetricsError(f'{file} is no table of metrics') from error
  if not rows:
    raise MetricsError(f'{file} has no round yet')
  return columns


def create_figure(
  experiments: Mapping[str, Metrics], title: str
) -> figure.Figure:
  """Creates the picture: a panel each for three metrics, by round.

  Panels without any value above 0, such as those of labels that nobody made,
  are left out; so are a curve's rounds without a pseudo-label where it shows
  how many of them are right.

  Args:
    experiments: A name for the legend to the metrics of each experiment.
    title: What is to be seen.
  """
  panels = [
    column
    for column in _PANELS
    if any(np.any(metrics[column] > 0) for metrics in experiments.values())
  ]
  picture = figure.Figure(
    (4.2 * max(len(panels), 1), 3.6), layout='constrained'
  )
  picture.suptitle(title)
  for index, column in enumerate(panels):
    axes = picture.add_subplot(1, len(panels), index + 1)
    for number, (name, metrics) in enumerate(experiments.items()):
      values = 100 * metrics[column]
      if column != 'test/accuracy':
        values = np.where(metrics['client/label_ratio'] > 0, values, np.nan)
      if not np.any(np.isfinite(values) & (values > 0)):
        continue
      axes.plot(
        metrics['round'],
        values,
        label=name,
        color=_COLOURS[number % len(_COLOURS)],
        linestyle=_STYLES[number % len(_STYLES)],
      )
    axes.set_xlabel('round')
    axes.set_ylabel(_PANELS[column])
    axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
  return picture


def draw_learning_curves(
  experiments: Mapping[str, Metrics], title: str, files: Sequence[str]
) -> None:
  """Draws the picture of `create_figure` into files.

  Args:
    experiments: As there.
    title: As there.
    files: Where to; the end of each name says in which format.

  Raises:
    OSError: If a file cannot be written.
  """
  picture = create_figure(experiments, title)
  for file in files:
    pathlib.Path(file).parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(file, dpi=150)
