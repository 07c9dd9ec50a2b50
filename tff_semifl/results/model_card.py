# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Writes the model card: what users of a model should know, as Markdown."""

from collections.abc import Iterable, Iterator, Sequence
import pathlib
import string

import numpy as np
import tensorflow as tf

from tff_semifl.data import example_kinds
from tff_semifl.experiments import export_formats
from tff_semifl.experiments import run_settings
from tff_semifl.experiments import validation
from tff_semifl.export import exported_model
from tff_semifl.export import scores as scores_lib
from tff_semifl.export import temperature as temperature_lib
from tff_semifl.metrics import intervals
from tff_semifl.plots import confusion_figure
from tff_semifl.plots import figure_files
from tff_semifl.privacy import privacy_statement
from tff_semifl.results import markdown
from tff_semifl.results import scores_in_words
from tff_semifl.runs import hparams_file
from tff_semifl.runs import saved_experiment

_TEMPLATE = pathlib.Path(__file__).with_name('model_card_template.md')
# Each system with clients has some of these settings.
_OF_CLIENTS = ('num_clients', 'clients_per_round', 'clients_per_step')
_SETTINGS = {
  'task': 'task',
  'num_labeled': 'labeled images',
  'num_validation': 'of these not trained on',
  'validation_fold': 'of these, the part not trained on',
  'num_clients': 'clients',
  'clients_per_round': 'clients in a round',
  'partition': 'partition among clients',
  'total_steps': 'steps',
  'seed': 'seed',
}
_OF_PARTITION = ('classes_per_client', 'dirichlet_concentration', 'skew')
_LIMITS_OF_ALL = (
  'Every image gets one of these classes, often with a high probability, even'
  ' noise. With a least confidence some of these images are unknown, not all.',
  'It was not tested on images from other cameras, places, people or years than'
  ' those of the task.',
  'It was not tested what the weights reveal about training images.',
)
_INPUT_OF_IMAGES = (
  'A SavedModel takes images of any size, which it scales and crops itself; its'
  ' signature `serving_default` returns `probabilities` and `class_name`, and'
  ' `serving_encoded` takes JPEG and PNG files instead. A TFLite model takes'
  ' one image of that size'
)
_INPUT_OF_FEATURES = (
  'A SavedModel takes a batch of vectors; its signature `serving_default`'
  ' returns `probabilities` and `class_name`. A TFLite model takes one vector'
)


def format_table(files: Sequence[export_formats.ExportedFile]) -> str:
  """A table of formats, sizes and accuracies."""
  rows = []
  for each in files:
    tested = 'not tested'
    if each.scores:
      tested = intervals.describe(each.scores.accuracy, each.scores.class_sizes)
    rows.append([each.format, each.file, f'{each.num_bytes / 1e6:.2f}', tested])
  return markdown.table(['format', 'file', 'MB', 'test accuracy'], rows)


def write(
  folder: pathlib.Path,
  *,
  name: str,
  model: tf.keras.Model,
  class_names: Sequence[str],
  hparams: hparams_file.Hparams,
  trained: saved_experiment.TrainedModel,
  files: Sequence[export_formats.ExportedFile],
  why_not_tested: str | None,
  stated: dict[str, str | None],
  privacy: privacy_statement.PrivacyStatement | None = None,
  least_confidence: float = 0.0,
  temperature: temperature_lib.Temperature | None = None,
  result: Sequence[str] = (),
) -> None:
  """Writes the card, and a figure of the confusion matrix if there is one.

  Args:
    why_not_tested: The reason, or None if the files were tested.
    stated: What the user states about license, intended use and the accuracy
      of the labels alone; None for what was not stated.
    least_confidence: The confidence threshold, in [0, 1].
    temperature: The temperature of the logits; None for 1.
    result: The system's own lines on the result.
  """
  scores = files[0].scores
  kind, takes, signatures = _describe_input(model.input_shape[1:])
  is_federated = not hparams.flags.keys().isdisjoint(_OF_CLIENTS)
  num_parameters = sum(int(np.prod(w.shape)) for w in model.trainable_weights)
  used = {
    f'`--{name}`': value
    for name, value in sorted(hparams.flags.items())
    if value is not None and name not in run_settings.UNIMPORTANT
  }
  card = string.Template(_TEMPLATE.read_text()).substitute(
    name=name,
    what=kind,
    model=model.name,
    num_parameters=f'{num_parameters:,}',
    origin='from a simulation of federated learning'
    if is_federated
    else 'trained in one place, without clients',
    takes=takes,
    num_classes=len(class_names),
    class_names=', '.join(map(markdown.escape, class_names)),
    formats=format_table(files),
    signatures=signatures,
    least_confidence=_describe_least_confidence(least_confidence),
    temperature=_describe_temperature(temperature),
    use=markdown.facts(
      (what, text or 'not stated') for what, text in stated.items()
    ),
    training=_training(hparams, trained),
    notes=_block(f'- {markdown.escape(note)}.' for note in hparams.notes),
    result='At the end of training:\n\n'
    + _block(f'    {line}' for line in result)
    if result
    else '',
    privacy='' if privacy is None else _describe_privacy(privacy),
    accuracy='The exported model was not tested:'
    f' {markdown.escape(str(why_not_tested))}.'
    if scores is None
    else _describe_accuracy(class_names, files[0].format, scores),
    limits='\n'.join(
      f'- {markdown.escape(line)}'
      for line in describe_limits(class_names, hparams, trained, scores)
    ),
    flags=markdown.facts(used.items(), heading=('flag', 'value')),
    versions=markdown.facts(
      sorted(hparams.versions.items()), heading=('what', 'version')
    ),
  )
  (folder / export_formats.CARD).write_text(card)
  if scores is not None:
    fig = confusion_figure.create_figure(
      scores.confusion,
      class_names,
      f'{name}: {scores.accuracy:.1%} of {scores.num_images} test images',
    )
    figure_files.save(fig, [folder / export_formats.CONFUSION_FIGURE])


def describe_limits(
  class_names: Sequence[str],
  hparams: hparams_file.Hparams,
  trained: saved_experiment.TrainedModel,
  scores: scores_lib.Scores | None,
) -> Iterator[str]:
  """Sentences on the limits of a model; `scores` is None if not tested."""
  total_rounds = hparams.flags.get('total_rounds')
  choice = trained.choice
  if choice is not None and choice.is_by_test:
    yield (
      f'The test images chose its round, by {choice.metric}: its accuracy on'
      ' these images is too good.'
    )
  if choice is not None and choice.is_best:
    if total_rounds is not None and choice.last_round < total_rounds:
      yield f'Training ended after round {choice.last_round} of {total_rounds}.'
  elif total_rounds is not None and trained.round_num < total_rounds:
    yield (
      f'It is not fully trained: round {trained.round_num} of {total_rounds}.'
    )
  if scores is None:
    yield (
      'What was exported was not tested itself; the model had an accuracy of'
      f' {trained.accuracy:.1%} in training.'
    )
  else:
    yield from scores_in_words.describe_limits(class_names, scores)
  yield from _LIMITS_OF_ALL


def _describe_input(shape: Sequence[int]) -> tuple[str, str, str]:
  """The kind of classifier, its input, and its signatures."""
  if example_kinds.kind_of(shape) is example_kinds.FEATURES:
    return (
      'A classifier of feature vectors',
      f'float32 vectors of {shape[0]} features',
      _INPUT_OF_FEATURES,
    )
  height, width, num_channels = shape
  colors = 'gray (1 channel)'
  if num_channels > 1:
    colors = f'in color ({num_channels} channels)'
  return (
    'An image classifier',
    f'uint8 images of {height}x{width} pixels, {colors}',
    _INPUT_OF_IMAGES,
  )


def _describe_least_confidence(least_confidence: float) -> str:
  if not least_confidence:
    return (
      'Least confidence: 0. Every image gets the name of its most probable'
      ' class.'
    )
  return (
    f'Least confidence: {least_confidence:g}. An image whose most probable'
    f' class has a lower probability is named `{exported_model.UNKNOWN}` by the'
    ' SavedModel. A TFLite model returns probabilities alone; apply the number'
    f' in its `{exported_model.LEAST_CONFIDENCE_FILE}`.'
  )


def _describe_temperature(
  temperature: temperature_lib.Temperature | None,
) -> str:
  if temperature is None:
    return ''
  return (
    f'Temperature scaling: logits are divided by {temperature.value:.4g}, which'
    f' minimizes the mean negative log likelihood of {temperature.num_images}'
    f' validation images ({temperature.nll_after:.4f} instead of'
    f' {temperature.nll_before:.4f}). It changes no predicted class.\n\n'
  )


def _training(
  hparams: hparams_file.Hparams, trained: saved_experiment.TrainedModel
) -> str:
  facts = {'system': hparams.system}
  facts |= {what: hparams.flags.get(name) for name, what in _SETTINGS.items()}
  for name in _OF_PARTITION:
    if hparams.flags.get(name) is not None:
      facts[_SETTINGS['partition']] += f' ({name} {hparams.flags[name]})'
  rounds = f'{trained.round_num} of {hparams.flags.get("total_rounds")}'
  if trained.choice is not None and trained.choice.is_best:
    rounds += f', {trained.choice.describe()}'
  kind = 'validation' if validation.is_chosen(hparams.flags) else 'test'
  facts |= {
    'data': hparams.data,
    'rounds': rounds,
    f'{kind} accuracy in training': f'{trained.accuracy:.1%} after that round,'
    f' {trained.best_accuracy:.1%} at best',
  }
  return markdown.facts(
    (what, value) for what, value in facts.items() if value is not None
  )


def _describe_privacy(privacy: privacy_statement.PrivacyStatement) -> str:
  parts = [
    '## Differential privacy of clients',
    f'Privacy: {markdown.escape(privacy.headline)}.',
  ]
  if privacy.meaning:
    weak = '**Weak.** ' if privacy.is_weak else ''
    parts.append(f'{weak}{scores_in_words.sentence(privacy.meaning)}')
  if privacy.details:
    parts.append(markdown.facts(privacy.details))
  return '\n\n'.join(parts) + '\n\n'


def _describe_accuracy(
  class_names: Sequence[str], format_name: str, scores: scores_lib.Scores
) -> str:
  metrics = scores_in_words.describe_metrics(scores.measure())
  return '\n\n'.join(
    [
      f'{intervals.describe(scores.accuracy, scores.class_sizes)}; loss'
      f' {scores.loss:.3f} ({format_name}). Of each class, with 95% intervals'
      ' (Wilson):',
      scores_in_words.class_table(class_names, scores),
      '\n'.join(f'- {line}.' for line in metrics),
      f'Shares of these images, and of {scores_lib.NUM_NOISE} images of noise,'
      ' whose most probable class reaches a least confidence:',
      scores_in_words.floors_table(scores),
      f'![Confusion matrix]({export_formats.CONFUSION_FIGURE})',
    ]
  )


def _block(lines: Iterable[str]) -> str:
  """Lines with an empty line after them, or nothing without lines."""
  text = ''.join(f'{line}\n' for line in lines)
  return f'{text}\n' if text else ''
