# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Sections of a report on the classes of a run, and on some of its images."""

from collections.abc import Iterator, Sequence

import matplotlib
from matplotlib import figure
from matplotlib import ticker
import numpy as np

from tff_semifl.export import scores as scores_lib
from tff_semifl.metrics import intervals
from tff_semifl.plots import confusion_figure
from tff_semifl.results import page
from tff_semifl.results import run_record
from tff_semifl.results import scores_in_words

# Rows of classes that are shown at once; the others are there on demand.
_SHOWN_CLASSES = 25
# A matrix of more would be too fine for a page.
_MAX_CONFUSION = 100


_SIZE = (4.2, 4.2)


def create_figure(bins: np.ndarray, title: str) -> figure.Figure:
  """Creates the figure: accuracy by confidence, and how many images have it.

  Args:
    bins: float64 [bins, 3], as `scores.Scores` has them: for equal parts of
      0..1 the number of images, of those that are right, and the sum of their
      confidences.
  """
  line_color = matplotlib.rcParams['axes.edgecolor']
  fig = figure.Figure(_SIZE, layout='constrained')
  upper, lower = fig.subplots(
    nrows=2, sharex=True, height_ratios=[3, 1], squeeze=True
  )
  width = 1 / len(bins)
  sizes, right, confidence = bins.T
  has_images = sizes > 0
  starts = np.arange(len(bins)) * width
  upper.bar(
    starts[has_images],
    (right / np.maximum(sizes, 1))[has_images],
    width,
    align='edge',
    alpha=0.6,
    edgecolor=line_color,
    linewidth=0.5,
  )
  upper.plot([0, 1], [0, 1], color=line_color, linestyle=':', linewidth=1)
  upper.plot(
    (confidence / np.maximum(sizes, 1))[has_images],
    (right / np.maximum(sizes, 1))[has_images],
    marker='o',
    markersize=4,
    linestyle='none',
    color='#d55e00',
  )
  upper.set_title(title)
  upper.set_ylabel('accuracy')
  upper.set_ylim(0, 1.02)
  upper.yaxis.set_major_formatter(ticker.PercentFormatter(1))
  lower.bar(starts, sizes, width, align='edge', alpha=0.6)
  lower.set_xlim(0, 1)
  lower.set_xlabel('confidence; points: mean of a bar')
  lower.set_ylabel('images')
  lower.xaxis.set_major_formatter(ticker.PercentFormatter(1))
  lower.yaxis.set_major_locator(ticker.MaxNLocator(3, integer=True))
  return fig


def create_classes(
  class_names: Sequence[str], scores: scores_lib.Scores
) -> Iterator[str]:
  """Yields recall, precision, confusions and calibration, HTML."""
  yield page.heading('Classes')
  rows = list(_class_rows(class_names, scores.confusion))
  headings = [
    *('class', 'images', 'recall (95% interval)', 'precision (95% interval)'),
    *('F1', 'most often taken for'),
  ]
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
    with page.figure_style():
      confusion = confusion_figure.create_figure(
        scores.confusion, class_names, 'Confusion matrix'
      )
    yield page.box(
      'scroll large', page.draw(confusion, 'Confusion matrix of the classes')
    )
  yield page.heading('Calibration')
  yield page.paragraph(
    scores_in_words.sentence(scores_in_words.describe_calibration(scores))
  )
  with page.figure_style():
    reliability = create_figure(scores.bins, 'Reliability diagram')
  yield page.box('figures', page.draw(reliability, 'Accuracy by confidence'))


def _class_rows(
  class_names: Sequence[str], confusion: np.ndarray
) -> Iterator[tuple[str, ...]]:
  sizes, taken = confusion.sum(axis=1), confusion.sum(axis=0)
  for label, name in enumerate(class_names):
    right, size = int(confusion[label, label]), int(sizes[label])
    yield (
      name,
      str(size),
      intervals.show(right, size),
      intervals.show(right, int(taken[label])),
      f'{2 * right / (size + taken[label]):.2f}' if size else '',
      scores_in_words.worst_mistake(class_names, confusion[label], label),
    )


def create_examples(
  class_names: Sequence[str], evaluated: run_record.Evaluated
) -> Iterator[str]:
  """Yields images that are wrong and that are unsure, HTML."""
  if not evaluated.unsure:
    return
  for title, what, examples in (
    ('Wrong images', 'Wrong, and most confident:', evaluated.wrong),
    (
      'Unsure images',
      'The two likeliest classes are closest:',
      evaluated.unsure,
    ),
  ):
    yield page.heading(title)
    if not examples:
      yield page.paragraph('There are none.')
      continue
    yield page.paragraph(what, 'quiet')
    shown = (
      page.show_image(each.image, _caption(class_names, each))
      for each in examples
    )
    yield page.box('gallery', ''.join(shown))


def _caption(class_names: Sequence[str], example: run_record.Example) -> str:
  label, predicted = class_names[example.label], class_names[example.predicted]
  found = f'{predicted} ({example.confidence:.0%})'
  if example.label == example.predicted:
    return f'{found}, right'
  return f'{label}, taken for {found}'
