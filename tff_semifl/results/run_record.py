# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The record of a run for a report, read from the run's folder.

The exported model is scored on the test or validation images, if model and
images are on this machine. Nothing is downloaded, and the folder is unchanged.
"""

from collections.abc import Sequence
import hashlib
import pathlib
import re
from typing import NamedTuple

import numpy as np

from tff_semifl import settings as settings_lib
from tff_semifl.data import sources
from tff_semifl.experiment import client_privacy
from tff_semifl.experiment import client_results
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import export_formats
from tff_semifl.experiment import federated_data
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import model_results
from tff_semifl.experiment import restored_settings
from tff_semifl.experiment import saved_experiment
from tff_semifl.export import exported_model
from tff_semifl.export import scores as scores_lib
from tff_semifl.export import tflite
from tff_semifl.metrics import client_accuracy
from tff_semifl.metrics import metric as metric_lib
from tff_semifl.privacy import privacy_statement
from tff_semifl.results import run_facts

_BATCH_SIZE = 250
_NUM_EXAMPLES = 12
_WARNING = re.compile(r'\S+ WARNING (.*)')


class Example(NamedTuple):
  """An image, uint8 [height, width, channels], and its prediction."""

  image: np.ndarray
  label: int
  predicted: int
  # The probability of the predicted class, in 0..1.
  confidence: float


class Evaluated(NamedTuple):
  """The exported model's predictions for the test or validation images."""

  scores: scores_lib.Scores
  # A digest of the images, in order.
  digest: str
  # Wrong predictions with the highest confidence; empty for feature vectors.
  wrong: Sequence[Example]


class RunRecord(NamedTuple):
  """The settings, metrics and evaluation of a run; `name` is the folder's name.

  If `evaluated` is None, `why_not_evaluated` is the reason. `class_names` may
  be empty, and `settings` None, if this machine cannot restore them. `clients`
  is empty if accuracies of clients were not measured. `privacy` is None without
  differential privacy. `result` has lines from the system's `describe_result`.
  """

  name: str
  hparams: hparams_file.Hparams
  metrics: metrics_table.Metrics
  trained: saved_experiment.TrainedModel
  class_names: Sequence[str]
  settings: experiment_settings.ExperimentSettings | None
  evaluated: Evaluated | None
  why_not_evaluated: str | None
  # Accuracies of the exported model, and of the model adapted to clients if
  # known.
  clients: Sequence[Sequence[client_accuracy.ClientAccuracy]]
  privacy: privacy_statement.PrivacyStatement | None
  warnings: Sequence[str]
  result: Sequence[str] = ()

  @property
  def kind(self) -> str:
    """The kind of evaluated images: 'test' or 'validation'."""
    is_split = federated_data.has_validation(self.hparams.flags)
    return 'validation' if is_split else 'test'

  @property
  def recorded_values(self) -> dict[str, float]:
    """The metrics that `metrics.csv` has for the kept model's round."""
    rows = np.flatnonzero(self.metrics['round'] == self.trained.round_num)
    prefix = f'{self.kind}/'
    return {
      name.removeprefix(prefix): float(column[rows[-1]])
      for name, column in self.metrics.items()
      if len(rows)
      and name.startswith(prefix)
      and name != f'{prefix}best_accuracy'
    }

  def measure(self) -> dict[str, float]:
    """The values of the metrics in `run_facts.TITLES` for the kept model."""
    if self.evaluated is None:
      values = {'accuracy': self.trained.accuracy, **self.recorded_values}
      return {name: values[name] for name in run_facts.TITLES if name in values}
    labels, logits = self.evaluated.scores.labels, self.evaluated.scores.logits
    return {
      name: metric_lib.METRICS[name].compute(labels, logits)
      for name in run_facts.TITLES
    }


def read(folder: pathlib.Path) -> RunRecord:
  """Reads the folder of an experiment."""
  hparams = saved_experiment.read_hparams(folder)
  metrics = metrics_table.read_metrics(folder / 'metrics.csv')
  trained = saved_experiment.read_trained_model(folder)
  experiment, evaluated, class_names, why_not = None, None, (), None
  try:
    experiment = restored_settings.restore(hparams, {})
    class_names, evaluated = _evaluate(folder, hparams, experiment)
  except (
    saved_experiment.SavedExperimentError,
    settings_lib.SettingError,
    exported_model.ExportedModelError,
    ValueError,
  ) as error:
    why_not = str(error)
  has_clients = (folder / client_results.ACCURACIES).exists()
  return RunRecord(
    name=folder.name,
    hparams=hparams,
    metrics=metrics,
    trained=trained._replace(weights=None, frozen_weights=None),
    class_names=class_names,
    settings=experiment,
    evaluated=evaluated,
    why_not_evaluated=why_not,
    clients=client_results.read_accuracies(folder) if has_clients else (),
    privacy=client_privacy.describe(hparams.flags, trained.last_round),
    warnings=_read_warnings(folder / 'log.txt'),
    result=model_results.read_by_system(folder),
  )


def _evaluate(
  folder: pathlib.Path,
  hparams: hparams_file.Hparams,
  experiment: experiment_settings.ExperimentSettings,
) -> tuple[tuple[str, ...], Evaluated]:
  """The class names, and the predictions of the exported model."""
  export = folder / 'export'
  models = experiment_folder.find_models(export)
  if not models:
    raise ValueError('there is no exported model yet: the run is not complete')
  task = experiment.data.create_task(experiment.model.model.create_task)
  if task.data_description != hparams.data:
    raise ValueError(
      f'the images ({task.data_description}) differ from those in training'
      f' ({hparams.data})'
    )
  if experiment.validates:
    test = export_formats.load_validation_images(experiment.data, task.outside)
  else:
    test = task.outside.load_test_images(may_download=False)
  if not len(test.labels):
    raise ValueError('there are no images to evaluate on')
  is_saved_model = models[0].name == 'saved_model.pb'
  model = tflite.load(export if is_saved_model else models[0])
  scores = scores_lib.score(model, test.batches(_BATCH_SIZE))
  digest = hashlib.sha256(sources.hash_images(test.images).tobytes())
  digest.update(np.asarray(test.labels, np.int64).tobytes())
  wrong = ()
  if model.kind is sources.IMAGES:
    wrong = _choose_wrong(test, scores.probabilities)
  return tuple(model.class_names), Evaluated(scores, digest.hexdigest(), wrong)


def _choose_wrong(
  test: sources.LabeledImages, probabilities: np.ndarray
) -> list[Example]:
  predicted, confidence = (
    probabilities.argmax(axis=1),
    probabilities.max(axis=1),
  )
  is_wrong = np.flatnonzero(predicted != test.labels)
  order = np.argsort(-confidence[is_wrong], kind='stable')
  return [
    Example(
      np.asarray(test.images[i]),
      int(test.labels[i]),
      int(predicted[i]),
      float(confidence[i]),
    )
    for i in is_wrong[order[:_NUM_EXAMPLES]]
  ]


def _read_warnings(path: pathlib.Path) -> list[str]:
  """The warnings in a log, without duplicates."""
  if not path.is_file():
    return []
  lines = path.read_text(errors='replace').splitlines()
  found = (_WARNING.fullmatch(line) for line in lines)
  return list(dict.fromkeys(match[1] for match in found if match))
