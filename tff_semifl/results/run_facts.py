# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tables and sentences on a run, for reports and model cards.

A table is a pair of headings and rows, for `markdown.table` or `page.table`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
import math
import typing

from tff_semifl import settings
from tff_semifl.export import scores as scores_lib
from tff_semifl.metrics import intervals

if typing.TYPE_CHECKING:
  # These modules import TFF, which `launch.evaluate` does not need.
  from tff_semifl.experiment import hparams_file
  from tff_semifl.experiment import saved_experiment

Table = tuple[Sequence[str], Iterable[Sequence[str]]]

TITLES = {
  'accuracy': 'accuracy',
  'balanced_accuracy': 'balanced accuracy',
  'macro_f1': 'macro-F1',
  'auc': 'AUC, one class against the rest',
  'nll': 'negative log likelihood',
  'brier': 'Brier score',
  'ece': 'expected calibration error',
}
_CLASS_HEADINGS = (
  *('class', 'images', 'recall (95% interval)', 'precision (95% interval)'),
  *('F1', 'most often taken for'),
)
# With 25 images, an accuracy has a standard error of up to ten points.
_FEW_IMAGES = 25
# Probabilities are called off, or far off, if the calibration error exceeds the
# error by chance by more than this.
_CLOSE = 0.05
_OFF = 0.15
# Above this ratio of class sizes, means over images hide rare classes.
_UNBALANCED = 1.5
_LIMITS_OF_ALL = (
  'Every image gets one of these classes, often with a high probability, even'
  ' noise.',
  'It was not tested on images from other cameras, places, people or years than'
  ' those of the task.',
  'It was not tested what the weights reveal about training images.',
)


def class_table(class_names: Sequence[str], scores: scores_lib.Scores) -> Table:
  """A table of recall, precision and most frequent mistake of each class."""
  confusion = scores.confusion
  sizes, taken = confusion.sum(axis=1), confusion.sum(axis=0)
  rows = []
  for label, name in enumerate(class_names):
    right, size = int(confusion[label, label]), int(sizes[label])
    mistakes = confusion[label].copy()
    mistakes[label] = 0
    worst = int(mistakes.argmax())
    rows.append(
      (
        name,
        str(size),
        intervals.show(right, size),
        intervals.show(right, int(taken[label])),
        f'{2 * right / (size + taken[label]):.2f}' if size else '',
        f'{class_names[worst]} ({mistakes[worst]})' if mistakes[worst] else '',
      )
    )
  return _CLASS_HEADINGS, rows


def settings_table(hparams: 'hparams_file.Hparams') -> Table:
  """A table of the settings that affect a run's results."""
  from tff_semifl.experiment import run_settings

  return ('flag', 'value'), [
    (f'--{name}', settings.show(value))
    for name, value in sorted(hparams.flags.items())
    if value is not None and name not in run_settings.UNIMPORTANT
  ]


def sentence(line: str) -> str:
  """Turns a line into a sentence, with a capital and a full stop."""
  return f'{line[0].upper()}{line[1:]}.'


def describe_calibration(scores: scores_lib.Scores) -> str:
  """A line on how well the model's probabilities are calibrated."""
  by_chance = scores.calibration_error_by_chance
  excess = scores.calibration_error - by_chance
  bias = scores.mean_confidence - scores.accuracy
  if excess <= _CLOSE:
    verdict = 'about right, as far as these images tell'
  else:
    verdict = 'too high' if bias > 0 else 'too low'
    # Positive and negative errors cancel in the mean.
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
  """Yields a line for each metric, with an interval."""
  for name, (value, low, high) in measured.items():
    shown = f'{value:.3f} (95% interval {low:.3f} to {high:.3f}, bootstrap)'
    if math.isnan(value):
      shown = 'not defined for images of one class'
    yield f'{TITLES[name]}: {shown}'


def describe_training(
  hparams: 'hparams_file.Hparams', trained: 'saved_experiment.TrainedModel'
) -> Iterator[str]:
  """Yields warnings if test images chose the round, or training ended early."""
  total_rounds = hparams.flags.get('total_rounds')
  choice = trained.choice
  if choice is not None and choice.is_by_test:
    yield (
      f'The test images chose its round, by {choice.metric}: its accuracy on'
      ' these images is too good.'
    )
  if total_rounds is None:
    return
  if choice is not None and choice.is_best:
    if choice.last_round < total_rounds:
      yield f'Training ended after round {choice.last_round} of {total_rounds}.'
  elif trained.round_num < total_rounds:
    yield (
      f'It is not fully trained: round {trained.round_num} of {total_rounds}.'
    )


def describe_limits(
  class_names: Sequence[str],
  hparams: 'hparams_file.Hparams',
  trained: 'saved_experiment.TrainedModel',
  scores: scores_lib.Scores | None,
) -> Iterator[str]:
  """Yields a model's limitations; `scores` is None if it was not tested."""
  yield from describe_training(hparams, trained)
  if scores is None:
    yield (
      'The exported file was not tested; the model had an accuracy of'
      f' {trained.accuracy:.1%} in training.'
    )
    yield from _LIMITS_OF_ALL
    return
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
  if sizes.max() > _UNBALANCED * sizes.min():
    yield (
      f'Test images are not balanced: {sizes.min()} to {sizes.max()} of a'
      ' class. Large classes dominate the accuracy.'
    )
  yield f'Its {describe_calibration(scores)}.'
  yield from _LIMITS_OF_ALL
