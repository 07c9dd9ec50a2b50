# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The model card: a description of a model for its users, in Markdown."""

from collections.abc import Mapping, Sequence
import pathlib
import string
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tff_semifl.data import sources
from tff_semifl.experiment import export_formats
from tff_semifl.experiment import federated_data
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import saved_experiment
from tff_semifl.export import scores as scores_lib
from tff_semifl.metrics import intervals
from tff_semifl.plots import figures
from tff_semifl.privacy import privacy_statement
from tff_semifl.results import markdown
from tff_semifl.results import run_facts

_TEMPLATE = pathlib.Path(__file__).with_name('model_card_template.md')


class ModelCard(NamedTuple):
  """The content of a model card.

  The card shows the scores of the first of `files`. `stated` has statements of
  the user, such as the license, by title; None marks a missing statement.
  `result` has the lines with which the system describes the trained model.
  """

  name: str
  model: tf.keras.Model
  class_names: Sequence[str]
  hparams: hparams_file.Hparams
  trained: saved_experiment.TrainedModel
  files: Sequence[export_formats.ExportedFile]
  why_not_tested: str | None
  stated: Mapping[str, str | None]
  privacy: privacy_statement.PrivacyStatement | None = None
  result: Sequence[str] = ()

  def write(self, folder: pathlib.Path) -> None:
    """Writes the card, and the confusion matrix if the model was tested."""
    (folder / export_formats.CARD).write_text(_to_markdown(self))
    scores = self.files[0].scores
    if scores is not None:
      fig = figures.create_confusion(
        scores.confusion,
        self.class_names,
        f'{self.name}: {scores.accuracy:.1%} of {scores.num_images} test'
        ' images',
      )
      figures.save(fig, [folder / export_formats.CONFUSION_FIGURE])


def format_table(files: Sequence[export_formats.ExportedFile]) -> str:
  """A table of formats, sizes and accuracies."""
  rows = []
  for each in files:
    tested = 'not tested'
    if each.scores:
      tested = intervals.describe(each.scores.accuracy, each.scores.class_sizes)
    rows.append([each.format, each.file, f'{each.num_bytes / 1e6:.2f}', tested])
  return markdown.table(['format', 'file', 'MB', 'test accuracy'], rows)


def _to_markdown(card: ModelCard) -> str:
  hparams, scores = card.hparams, card.files[0].scores
  model = card.model
  num_parameters = sum(int(np.prod(w.shape)) for w in model.trainable_weights)
  accuracy = f'The exported model was not tested: {card.why_not_tested}.'
  if scores is not None:
    accuracy = _describe_accuracy(
      card.class_names, card.files[0].format, scores
    )
  limits = run_facts.describe_limits(
    card.class_names, hparams, card.trained, scores
  )
  what, takes = _describe_input(model.input_shape[1:])
  text = string.Template(_TEMPLATE.read_text()).substitute(
    name=card.name,
    what=what,
    model=model.name,
    num_parameters=f'{num_parameters:,}',
    takes=takes,
    num_classes=len(card.class_names),
    class_names=', '.join(map(markdown.escape, card.class_names)),
    formats=format_table(card.files),
    use=markdown.facts(
      (what, text or 'not stated') for what, text in card.stated.items()
    ),
    training=markdown.facts(_training(hparams, card.trained).items()),
    notes=_list(f'{note}.' for note in hparams.notes),
    result='\n'.join(f'    {line}' for line in card.result),
    privacy=_describe_privacy(card.privacy),
    accuracy=accuracy,
    limits=_list(limits),
    flags=markdown.table(*_escape(run_facts.settings_table(hparams))),
    versions=markdown.facts(
      sorted(hparams.versions.items()), heading=('what', 'version')
    ),
  )
  # Removes the empty lines of omitted sections.
  paragraphs = (each.strip('\n') for each in text.split('\n\n'))
  return '\n\n'.join(each for each in paragraphs if each) + '\n'


def _describe_input(shape: Sequence[int]) -> tuple[str, str]:
  if sources.kind_of(shape) is sources.FEATURES:
    takes = f'float32 vectors of {shape[0]} features'
    return 'A classifier of feature vectors', takes
  height, width, num_channels = shape
  colors = 'in color (3 channels)' if num_channels > 1 else 'gray (1 channel)'
  takes = f'uint8 images of {height}x{width} pixels, {colors}'
  return 'An image classifier', takes


def _training(
  hparams: hparams_file.Hparams, trained: saved_experiment.TrainedModel
) -> dict[str, object]:
  rounds = f'{trained.round_num} of {hparams.flags.get("total_rounds")}'
  if trained.choice is not None and trained.choice.is_best:
    rounds += f', {trained.choice.describe()}'
  kind = (
    'validation' if federated_data.has_validation(hparams.flags) else 'test'
  )
  facts = {
    'system': hparams.system,
    'data': hparams.data,
    'rounds': rounds,
    f'{kind} accuracy in training': f'{trained.accuracy:.1%} after that round,'
    f' {trained.best_accuracy:.1%} at best',
  }
  return {what: value for what, value in facts.items() if value is not None}


def _describe_privacy(
  privacy: privacy_statement.PrivacyStatement | None,
) -> str:
  if privacy is None:
    return ''
  parts = [
    '## Differential privacy of clients',
    f'Privacy: {markdown.escape(privacy.headline)}.',
  ]
  if privacy.meaning:
    weak = '**Weak.** ' if privacy.is_weak else ''
    parts.append(f'{weak}{run_facts.sentence(privacy.meaning)}')
  if privacy.details:
    parts.append(markdown.facts(privacy.details))
  return '\n\n'.join(parts)


def _describe_accuracy(
  class_names: Sequence[str], format_name: str, scores: scores_lib.Scores
) -> str:
  metrics = run_facts.describe_metrics(scores.measure())
  return '\n\n'.join(
    [
      f'{intervals.describe(scores.accuracy, scores.class_sizes)}; loss'
      f" {scores.loss:.3f} ({format_name}). Intervals of classes are Wilson's:",
      markdown.table(*_escape(run_facts.class_table(class_names, scores))),
      _list(f'{line}.' for line in metrics),
      f'![Confusion matrix]({export_formats.CONFUSION_FIGURE})',
    ]
  )


def _escape(table: run_facts.Table) -> run_facts.Table:
  headings, rows = table
  return headings, [[markdown.escape(cell) for cell in row] for row in rows]


def _list(lines) -> str:
  return '\n'.join(f'- {markdown.escape(line)}' for line in lines)
