# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Describes a model's scores and their limits in sentences."""

from collections.abc import Iterator, Mapping, Sequence
import math

import numpy as np

from tff_semifl.export import scores as scores_lib
from tff_semifl.metrics import intervals
from tff_semifl.results import markdown

_NAMES = {
  'balanced_accuracy': 'balanced accuracy',
  'macro_f1': 'macro-F1',
  'auc': 'AUC, one class against the rest',
}
# With 25 images, an accuracy has a standard error of up to ten points.
_FEW_IMAGES = 25
# From these excesses of the calibration error over chance, it is named off, or
# far off.
_CLOSE = 0.05
_OFF = 0.15
# From this ratio of class sizes on, a mean over images hides small classes.
_UNBALANCED = 1.5


def class_table(class_names: Sequence[str], scores: scores_lib.Scores) -> str:
  """The accuracy of each class as a table in Markdown."""
  rows = zip(
    class_names,
    scores.class_sizes,
    np.diag(scores.confusion),
    scores.confusion,
    strict=True,
  )
  return markdown.table(
    ['class', 'test images', 'accuracy', 'most often mistaken for'],
    (
      [
        markdown.escape(name),
        str(size),
        intervals.show(num_right, size),
        markdown.escape(worst_mistake(class_names, row, label)),
      ]
      for label, (name, size, num_right, row) in enumerate(rows)
    ),
  )


def worst_mistake(
  class_names: Sequence[str], row: np.ndarray, label: int
) -> str:
  """The class that a class is most often taken for, and how often.

  `row`, int [num_classes], is the row of `label` in the confusion matrix.
  """
  mistakes = row.copy()
  mistakes[label] = 0
  worst = int(mistakes.argmax())
  return f'{class_names[worst]} ({mistakes[worst]})' if mistakes[worst] else ''


def sentence(line: str) -> str:
  """A line with a capital and a full stop."""
  return f'{line[0].upper()}{line[1:]}.'


def list_floors(scores: scores_lib.Scores) -> Iterator[str]:
  """A line on accuracy and coverage at each confidence threshold."""
  for each in scores.floors():
    reached = 'no test image'
    if each.num_images:
      reached = (
        f'{each.num_images / scores.num_images:.1%} of test images, of which'
        f' {intervals.show(each.num_right, each.num_images)} are correct'
      )
    yield (
      f'confidence {each.floor:g} or more: {reached};'
      f' {each.share_of_noise:.1%} of noise images'
    )


def floors_table(scores: scores_lib.Scores) -> str:
  """Accuracy and coverage at confidence thresholds as a table in Markdown."""
  return markdown.table(
    ['least confidence', 'test images', 'of these correct', 'noise'],
    (
      [
        f'{each.floor:g}',
        f'{each.num_images / scores.num_images:.1%}',
        intervals.show(each.num_right, each.num_images),
        f'{each.share_of_noise:.1%}',
      ]
      for each in scores.floors()
    ),
  )


def describe_calibration(scores: scores_lib.Scores) -> str:
  """A sentence on the calibration error."""
  by_chance = scores.calibration_error_by_chance
  excess = scores.calibration_error - by_chance
  bias = scores.mean_confidence - scores.accuracy
  if excess <= _CLOSE:
    verdict = 'about right, as far as these images tell'
  else:
    verdict = 'too high' if bias > 0 else 'too low'
    # Errors of both signs cancel in the mean.
    if abs(bias) < excess / 2:
      verdict = 'off'
    if excess > _OFF:
      verdict = f'far {verdict}; do not read them as chances of being correct'
  return (
    f'probabilities are {verdict}: {scores.mean_confidence:.1%} on average for'
    f' predictions of which {scores.accuracy:.1%} are correct, and an expected'
    f' calibration error of {scores.calibration_error:.1%}, where chance alone'
    f' makes {by_chance:.1%} of {scores.num_images} images'
  )


def describe_metrics(
  measured: Mapping[str, scores_lib.MetricScore],
) -> Iterator[str]:
  """Each metric with its interval."""
  for name, (value, low, high) in measured.items():
    shown = f'{value:.3f} (95% interval {low:.3f} to {high:.3f}, bootstrap)'
    if math.isnan(value):
      shown = 'not defined for images of one class'
    yield f'{_NAMES[name]}: {shown}'


def describe_limits(
  class_names: Sequence[str], scores: scores_lib.Scores
) -> Iterator[str]:
  """Sentences on the limits of an accuracy."""
  sizes = scores.class_sizes
  few = [
    f'{name} ({size})'
    for name, size in zip(class_names, sizes, strict=True)
    if size < _FEW_IMAGES
  ]
  if few:
    yield (
      f'Accuracies of classes with fewer than {_FEW_IMAGES} test images are'
      f' imprecise: {", ".join(few)}.'
    )
  known = [
    (accuracy, name)
    for name, accuracy in zip(class_names, scores.class_accuracies, strict=True)
    if accuracy is not None
  ]
  if sizes.max() > _UNBALANCED * sizes.min():
    mean = sum(accuracy for accuracy, _ in known) / len(known)
    yield (
      f'Test images are not balanced: {sizes.min()} to {sizes.max()} of a'
      ' class. Large classes dominate the accuracy; the mean over classes is'
      f' {mean:.1%}{_of_classes(known, sizes)}.'
    )
  (least, worst), (most, best) = min(known), max(known)
  yield (
    f'Accuracy differs by class: {least:.1%} for {worst}, {most:.1%} for'
    f' {best}.'
  )
  yield f'Its {describe_calibration(scores)}.'


def _of_classes(known: Sequence[object], sizes: Sequence[int]) -> str:
  if len(known) == len(sizes):
    return ''
  return f', over the {len(known)} of {len(sizes)} classes that have any'
