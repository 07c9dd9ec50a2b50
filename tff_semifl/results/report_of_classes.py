# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Sections of a report on the classes of a run, and on some of its images."""

from collections.abc import Iterator, Sequence
import functools

import matplotlib
from matplotlib import figure
from matplotlib import ticker
import numpy as np

from tff_semifl.plots import matrix_figures
from tff_semifl.results import page
from tff_semifl.results import run_facts
from tff_semifl.results import run_record

# Further classes are in a collapsed table.
_SHOWN_CLASSES = 25
# A matrix of more classes would be too fine for a page.
_MAX_CONFUSION = 100


def create(
  class_names: Sequence[str], evaluated: run_record.Evaluated
) -> Iterator[str]:
  """Yields recall, precision, confusions, calibration and images, as HTML."""
  scores = evaluated.scores
  yield page.heading('Classes')
  headings, rows = run_facts.class_table(class_names, scores)
  if len(rows) > _SHOWN_CLASSES:
    recall = np.diag(scores.confusion) / np.maximum(scores.class_sizes, 1)
    # Classes without images come last.
    order = np.lexsort([recall, scores.class_sizes == 0])[:_SHOWN_CLASSES]
    yield page.paragraph(f'The {_SHOWN_CLASSES} with the lowest recall:')
    yield page.table(headings, [rows[i] for i in order])
    yield page.details(f'all {len(rows)} classes', page.table(headings, rows))
  else:
    yield page.table(headings, rows)
  if len(class_names) <= _MAX_CONFUSION:
    create_figure = functools.partial(
      matrix_figures.create_confusion,
      scores.confusion,
      class_names,
      'Confusion matrix',
    )
    label = 'Confusion matrix of the classes'
    yield page.box('scroll large', page.draw(create_figure, label))
  yield page.heading('Calibration')
  calibration = run_facts.describe_calibration(scores)
  yield page.paragraph(run_facts.sentence(calibration))
  create_figure = functools.partial(_create_reliability_diagram, scores.bins)
  yield page.box('figures', page.draw(create_figure, 'Accuracy by confidence'))
  if evaluated.unsure:
    yield page.heading('Wrong images, the most confident first')
    yield _gallery(class_names, evaluated.wrong)
    yield page.heading('Images whose two likeliest classes are closest')
    yield _gallery(class_names, evaluated.unsure)


def _create_reliability_diagram(bins: np.ndarray) -> figure.Figure:
  """Plots accuracy and number of images by confidence.

  `bins` is float64 [bins, 3], see `scores.Scores`.
  """
  line_color = matplotlib.rcParams['axes.edgecolor']
  fig = figure.Figure((4.2, 4.2), layout='constrained')
  upper, lower = fig.subplots(nrows=2, sharex=True, height_ratios=[3, 1])
  width = 1 / len(bins)
  starts = np.arange(len(bins)) * width
  lower.bar(starts, bins[:, 0], width, align='edge', alpha=0.6)
  has_images = bins[:, 0] > 0
  sizes, right, confidence = bins[has_images].T
  upper.bar(
    starts[has_images],
    right / sizes,
    width,
    align='edge',
    alpha=0.6,
    edgecolor=line_color,
    linewidth=0.5,
  )
  upper.plot([0, 1], [0, 1], color=line_color, linestyle=':', linewidth=1)
  upper.plot(confidence / sizes, right / sizes, 'o', color='#d55e00', ms=4)
  upper.set_title('Reliability diagram')
  upper.set_ylabel('accuracy')
  upper.set_ylim(0, 1.02)
  upper.yaxis.set_major_formatter(ticker.PercentFormatter(1))
  lower.set_xlim(0, 1)
  lower.set_xlabel('confidence; points: mean of a bar')
  lower.set_ylabel('images')
  lower.xaxis.set_major_formatter(ticker.PercentFormatter(1))
  lower.yaxis.set_major_locator(ticker.MaxNLocator(3, integer=True))
  return fig


def _gallery(
  class_names: Sequence[str], examples: Sequence[run_record.Example]
) -> str:
  if not examples:
    return page.paragraph('There are none.')
  shown = []
  for each in examples:
    caption = f'{class_names[each.predicted]} ({each.confidence:.0%})'
    if each.label == each.predicted:
      caption += ', right'
    else:
      caption = f'{class_names[each.label]}, taken for {caption}'
    shown.append(page.show_image(each.image, caption))
  return page.box('gallery', ''.join(shown))
