# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Writes the model card: what users of a model should know, as Markdown."""

from collections.abc import Iterator, Sequence
import dataclasses
import pathlib

import numpy as np
import tensorflow as tf

from tff_semifl.data import example_kinds
from tff_semifl.experiments import run_settings
from tff_semifl.experiments import scores_in_words
from tff_semifl.experiments import validation
from tff_semifl.export import exported_model
from tff_semifl.export import scores as scores_lib
from tff_semifl.export import temperature as temperature_lib
from tff_semifl.plots import confusion_figure
from tff_semifl.plots import figure_files
from tff_semifl.privacy import privacy_statement
from tff_semifl.results import markdown
from tff_semifl.runs import hparams_file
from tff_semifl.runs import intervals
from tff_semifl.runs import saved_experiment

CARD = 'README.md'
FIGURE = 'confusion_matrix.png'
# Each system with clients has some of these settings.
_OF_CLIENTS = ('num_clients', 'clients_per_round', 'clients_per_step')
_LIMITS_OF_ALL = (
  '- Every image gets one of these classes, often with a high probability, even'
  ' noise. With a least confidence some of these images are unknown, not all.',
  '- It was not tested on images from other cameras, places, people or years'
  ' than those of the task.',
  '- It was not tested what the weights reveal about training images.',
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportedFile:
  """A model in one of its formats.

  Attributes:
    format: The format's name.
    file: The path, relative to the card.
    num_bytes: The total size.
    scores: The results on the test images, None if not tested.
  """

  format: str
  file: str
  num_bytes: int
  scores: scores_lib.Scores | None


def format_table(files: Sequence[ExportedFile]) -> str:
  """A table of formats, sizes and accuracies."""
  return markdown.table(
    ['format', 'file', 'MB', 'test accuracy'],
    (
      [
        each.format,
        each.file,
        f'{each.num_bytes / 1e6:.2f}',
        intervals.describe(each.scores.accuracy, each.scores.class_sizes)
        if each.scores
        else 'not tested',
      ]
      for each in files
    ),
  )


def write(
  folder: pathlib.Path,
  *,
  name: str,
  model: tf.keras.Model,
  class_names: Sequence[str],
  hparams: hparams_file.Hparams,
  trained: saved_experiment.TrainedModel,
  files: Sequence[ExportedFile],
  why_not_tested: str | None,
  privacy: privacy_statement.PrivacyStatement | None = None,
  least_confidence: float = 0.0,
  license_name: str | None = None,
  intended_use: str | None = None,
  labels_alone_accuracy: float | None = None,
  temperature: temperature_lib.Temperature | None = None,
  result: Sequence[str] = (),
) -> None:
  """Writes the card, and a figure of the confusion matrix if there is one.

  Args:
    why_not_tested: The reason, or None if the files were tested.
    privacy: The privacy guarantee to clients; None without differential
      privacy.
    least_confidence: The confidence threshold, in [0, 1].
    license_name: License of the model; None if not stated.
    intended_use: What the model is for; None if not stated.
    labels_alone_accuracy: Test accuracy, in [0, 1], of the same model trained
      without clients; None if not stated.
    temperature: The temperature of the logits; None for 1.
  """
  lines = [
    *_summary(name, model, class_names, files, hparams),
    *_least_confidence(least_confidence),
    *_temperature(temperature),
    *_use(license_name, intended_use, labels_alone_accuracy),
    *_training(hparams, trained),
    *_result(result),
    *_privacy(privacy),
    *_accuracy(class_names, files[0], why_not_tested),
    '## Limits',
    '',
    *describe_limits(class_names, hparams, trained, files[0].scores),
    '',
    *_record(hparams),
  ]
  (folder / CARD).write_text('\n'.join(lines))
  scores = files[0].scores
  if scores is not None:
    fig = confusion_figure.create_figure(
      scores.confusion,
      class_names,
      f'{name}: {scores.accuracy:.1%} of {scores.num_images} test images',
    )
    figure_files.save(fig, [folder / FIGURE])


def _result(lines: Sequence[str]) -> Iterator[str]:
  if lines:
    yield 'At the end of training:'
    yield ''
    yield from (f'    {line}' for line in lines)
    yield ''


def _summary(
  name: str,
  model: tf.keras.Model,
  class_names: Sequence[str],
  files: Sequence[ExportedFile],
  hparams: hparams_file.Hparams,
) -> Iterator[str]:
  num_parameters = sum(int(np.prod(w.shape)) for w in model.trainable_weights)
  origin = 'from a simulation of federated learning'
  if hparams.flags.keys().isdisjoint(_OF_CLIENTS):
    origin = 'trained in one place, without clients'
  yield f'# {name}'
  yield ''
  shape = model.input_shape[1:]
  what, takes, signatures = _describe_input(shape)
  yield (
    f'{what}, `{model.name}` with {num_parameters:,} trained'
    f' parameters, {origin} (tff_semifl). It takes {takes}, and gives the'
    f' probabilities of {len(class_names)} classes:'
    f' {", ".join(map(markdown.escape, class_names))}.'
  )
  yield ''
  yield format_table(files)
  yield ''
  yield (
    f'{signatures}. The names of the classes, in order, are in `labels.txt`,'
    ' which `unzip` also extracts from a TFLite model.'
  )
  yield ''


def _describe_input(shape: Sequence[int]) -> tuple[str, str, str]:
  """The kind of classifier, its input, and its signatures."""
  if example_kinds.kind_of(shape) is example_kinds.FEATURES:
    return (
      'A classifier of feature vectors',
      f'float32 vectors of {shape[0]} features',
      'A SavedModel takes a batch of vectors; its signature `serving_default`'
      ' returns `probabilities` and `class_name`. A TFLite model takes one'
      ' vector',
    )
  height, width, num_channels = shape
  colors = 'gray' if num_channels == 1 else 'in color'
  return (
    'An image classifier',
    f'uint8 images of {height}x{width} pixels, {colors} ({num_channels}'
    f' channel{"s" if num_channels > 1 else ""})',
    'A SavedModel takes images of any size, which it scales and crops itself;'
    ' its signature `serving_default` returns `probabilities` and `class_name`,'
    ' and `serving_encoded` takes JPEG and PNG files instead. A TFLite model'
    ' takes one image of that size',
  )


def _least_confidence(least_confidence: float) -> Iterator[str]:
  if not least_confidence:
    yield (
      'Least confidence: 0. Every image gets the name of its most probable'
      ' class.'
    )
  else:
    yield (
      f'Least confidence: {least_confidence:g}. An image whose most probable'
      f' class has a lower probability is named `{exported_model.UNKNOWN}` by'
      ' the SavedModel. A TFLite model returns probabilities alone; apply the'
      f' number in its `{exported_model.LEAST_CONFIDENCE_FILE}`.'
    )
  yield ''


def _temperature(
  temperature: temperature_lib.Temperature | None,
) -> Iterator[str]:
  if temperature is None:
    return
  yield (
    f'Temperature scaling: logits are divided by {temperature.value:.4g}, which'
    f' minimizes the mean negative log likelihood of {temperature.num_images}'
    f' validation images ({temperature.nll_after:.4f} instead of'
    f' {temperature.nll_before:.4f}). It changes no predicted class.'
  )
  yield ''


def _use(
  license_name: str | None,
  intended_use: str | None,
  labels_alone_accuracy: float | None,
) -> Iterator[str]:
  facts = {
    'license': license_name,
    'intended use': intended_use,
    'accuracy of the labels alone': None
    if labels_alone_accuracy is None
    else f'{labels_alone_accuracy:.1%}',
  }
  yield '## Use'
  yield ''
  yield markdown.facts(
    (what, text or 'not stated') for what, text in facts.items()
  )
  yield ''


def _training(
  hparams: hparams_file.Hparams, trained: saved_experiment.TrainedModel
) -> Iterator[str]:
  values = hparams.flags
  partition = values.get('partition')
  for parameter in ('classes_per_client', 'dirichlet_concentration', 'skew'):
    if values.get(parameter) is not None:
      partition = f'{partition} ({parameter} {values[parameter]})'
  evaluated = 'validation' if validation.is_chosen(values) else 'test'
  rounds = f'{trained.round_num} of {values.get("total_rounds")}'
  if trained.choice is not None and trained.choice.is_best:
    rounds += f', {trained.choice.describe()}'
  facts = {
    'system': hparams.system,
    'task': values.get('task'),
    'labeled images': values.get('num_labeled'),
    'of these not trained on': values.get('num_validation'),
    'of these, the part not trained on': values.get('validation_fold'),
    'clients': values.get('num_clients'),
    'clients in a round': values.get('clients_per_round'),
    'partition among clients': partition,
    'data': hparams.data,
    'steps': values.get('total_steps'),
    'rounds': rounds,
    'seed': values.get('seed'),
    f'{evaluated} accuracy in training': f'{trained.accuracy:.1%} after that'
    f' round, {trained.best_accuracy:.1%} at best',
  }
  yield '## Data and training'
  yield ''
  yield markdown.facts(
    (what, value) for what, value in facts.items() if value is not None
  )
  yield ''
  for note in hparams.notes:
    yield f'- {markdown.escape(note)}.'
  if hparams.notes:
    yield ''


def _privacy(
  privacy: privacy_statement.PrivacyStatement | None,
) -> Iterator[str]:
  if privacy is None:
    return
  yield '## Differential privacy of clients'
  yield ''
  yield f'Privacy: {markdown.escape(privacy.headline)}.'
  yield ''
  if privacy.meaning:
    warning = '**Weak.** ' if privacy.is_weak else ''
    yield f'{warning}{privacy.meaning[0].upper()}{privacy.meaning[1:]}.'
    yield ''
  if privacy.details:
    yield markdown.facts(privacy.details)
    yield ''


def _accuracy(
  class_names: Sequence[str], file: ExportedFile, why_not_tested: str | None
) -> Iterator[str]:
  yield '## Accuracy'
  yield ''
  if why_not_tested is not None:
    yield (
      f'The exported model was not tested: {markdown.escape(why_not_tested)}.'
    )
  else:
    yield from scores_in_words.describe_accuracy(
      class_names, file.scores, file.format
    )
    yield ''
    for line in scores_in_words.describe_metrics(file.scores.measure()):
      yield f'- {line}.'
    yield ''
    yield from scores_in_words.describe_floors(file.scores)
    yield ''
    yield f'![Confusion matrix]({FIGURE})'
  yield ''


def describe_limits(
  class_names: Sequence[str],
  hparams: hparams_file.Hparams,
  trained: saved_experiment.TrainedModel,
  scores: scores_lib.Scores | None,
) -> Iterator[str]:
  """The limits of a model, as items of a list in Markdown.

  Args:
    scores: The results on the test images; None if not tested.
  """
  total_rounds = hparams.flags.get('total_rounds')
  choice = trained.choice
  if choice is not None and choice.is_by_test:
    yield (
      f'- The test images chose its round, by {choice.metric}: its accuracy on'
      ' these images is too good.'
    )
  if choice is not None and choice.is_best:
    if total_rounds is not None and choice.last_round < total_rounds:
      yield (
        f'- Training ended after round {choice.last_round} of {total_rounds}.'
      )
  elif total_rounds is not None and trained.round_num < total_rounds:
    yield (
      f'- It is not fully trained: round {trained.round_num} of {total_rounds}.'
    )
  if scores is None:
    yield (
      '- What was exported was not tested itself; the model had an accuracy of'
      f' {trained.accuracy:.1%} in training.'
    )
  else:
    yield from scores_in_words.describe_limits(class_names, scores)
  yield from _LIMITS_OF_ALL


def _record(hparams: hparams_file.Hparams) -> Iterator[str]:
  yield '## Flags and versions'
  yield ''
  yield markdown.facts(
    (
      (f'`--{name}`', value)
      for name, value in sorted(hparams.flags.items())
      if value is not None and name not in run_settings.UNIMPORTANT
    ),
    heading=('flag', 'value'),
  )
  yield ''
  yield markdown.facts(
    sorted(hparams.versions.items()), heading=('what', 'version')
  )
  yield ''
