# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Sentences on the scores of a model: what they show, and what not."""

from collections.abc import Iterator, Sequence
import math

import numpy as np

from tff_semifl.experiments import markdown
from tff_semifl.export import scores as scores_lib

# With that many an accuracy has a standard error of up to ten points.
_FEW_IMAGES = 25
# What a class has more images than another for a mean over images to hide it.
_UNBALANCED = 1.5


def describe_accuracy(
  class_names: Sequence[str], scores: scores_lib.Scores, format_name: str
) -> Iterator[str]:
  """Yields lines in Markdown on the accuracy, in all and of each class.

  Args:
    class_names: A name for each class.
    scores: The scores.
    format_name: Name of the format of the model that has them.
  """
  error = math.sqrt(scores.accuracy * (1 - scores.accuracy) / scores.num_images)
  yield (
    f'{scores.accuracy:.1%} of {scores.num_images} test images, with a'
    f' standard error of {100 * error:.1f} points; loss {scores.loss:.3f}'
    f' ({format_name}).'
  )
  yield ''
  rows = zip(
    class_names,
    scores.class_sizes,
    scores.class_accuracies,
    scores.confusion,
    strict=True,
  )
  yield markdown.table(
    ['class', 'test images', 'accuracy', 'most often mistaken for'],
    (
      [
        markdown.escape(name),
        str(size),
        'unknown' if accuracy is None else f'{accuracy:.1%}',
        markdown.escape(_worst_mistake(class_names, row, label)),
      ]
      for label, (name, size, accuracy, row) in enumerate(rows)
    ),
  )


def _worst_mistake(
  class_names: Sequence[str], row: np.ndarray, label: int
) -> str:
  mistakes = row.copy()
  mistakes[label] = 0
  worst = int(mistakes.argmax())
  return f'{class_names[worst]} ({mistakes[worst]})' if mistakes[worst] else ''


def describe_floors(scores: scores_lib.Scores) -> Iterator[str]:
  """Yields lines in Markdown on what a least confidence would leave.

  Args:
    scores: The scores.
  """
  yield (
    f'The share of these images, and of {scores_lib.NUM_NOISE} images of noise,'
    ' whose most probable class has at least a given probability:'
  )
  yield ''
  yield markdown.table(
    ['least confidence', 'test images', 'of these right', 'noise'],
    (
      [
        f'{each.floor:g}',
        f'{each.num_images / scores.num_images:.1%}',
        f'{each.num_right / each.num_images:.1%}'
        if each.num_images
        else 'unknown',
        f'{each.share_of_noise:.1%}',
      ]
      for each in scores.floors()
    ),
  )


def describe_limits(
  class_names: Sequence[str], scores: scores_lib.Scores
) -> Iterator[str]:
  """Yields lines in Markdown on what the accuracy does not say.

  Args:
    class_names: A name for each class.
    scores: The scores.
  """
  sizes = scores.class_sizes
  few = [
    f'{markdown.escape(name)} ({size})'
    for name, size in zip(class_names, sizes, strict=True)
    if size < _FEW_IMAGES
  ]
  if few:
    yield (
      f'- Little is known of classes with fewer than {_FEW_IMAGES} test images:'
      f' {", ".join(few)}.'
    )
  known = [
    (accuracy, name)
    for name, accuracy in zip(class_names, scores.class_accuracies, strict=True)
    if accuracy is not None
  ]
  if sizes.max() > _UNBALANCED * sizes.min():
    mean = sum(accuracy for accuracy, _ in known) / len(known)
    yield (
      f'- Test images are not balanced: {sizes.min()} to {sizes.max()} of a'
      ' class. The accuracy over all is above all that of large classes; the'
      f' mean over classes is {mean:.1%}.'
    )
  (least, worst), (most, best) = min(known), max(known)
  yield (
    f'- It is not equally right everywhere: {least:.1%} for class'
    f' {markdown.escape(worst)}, {most:.1%} for {markdown.escape(best)}.'
  )
