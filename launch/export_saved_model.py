# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Exports the model of an experiment as a SavedModel or TFLite model.

  python -m launch.export_saved_model --experiment=results/mine
  python -m launch.export_saved_model --experiment=results/mine \
    --format=saved_model,tflite

The model comes from the newest intact checkpoint; with --keep_best it is the
best model of the run. A model card, README.md, describes the model and its
accuracy. If images or features of the experiment have moved, give their new
place by --data_dir, --image_dir or --features_file.
"""

from collections.abc import Mapping
import dataclasses
import functools
import pathlib
from typing import Any

from tff_semifl import settings
from tff_semifl.cli import program
from tff_semifl.data import data_errors
from tff_semifl.data import sources
from tff_semifl.experiment import checkpoints
from tff_semifl.experiment import client_privacy
from tff_semifl.experiment import client_results
from tff_semifl.experiment import export_formats
from tff_semifl.experiment import image_task
from tff_semifl.experiment import model_results
from tff_semifl.experiment import restored_settings
from tff_semifl.experiment import saved_experiment
from tff_semifl.experiment import site_shares
from tff_semifl.export import saved_model
from tff_semifl.export import tflite
from tff_semifl.files import durable_files
from tff_semifl.label_shift import share_prior
from tff_semifl.models import functional
from tff_semifl.results import model_card

_FORMATS = (*export_formats.NAMES, export_formats.ALL_TFLITE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Export(settings.Settings):
  """The settings of this program."""

  experiment: str | None = settings.setting(
    None, 'Folder of the experiment, <output_dir>/<name>. It must be given.'
  )
  format: tuple[str, ...] = settings.setting(
    (export_formats.SAVED_MODEL,),
    f'Comma-separated formats to export: {", ".join(export_formats.NAMES)}, or'
    ' tflite for all formats of TFLite. The int8 format, which computes with'
    " integers, is calibrated with the server's labeled images.",
    settings.Values(
      f'some of {", ".join(_FORMATS)}',
      lambda names: bool(names) and {*names} <= {*_FORMATS},
    ),
  )
  export_dir: str | None = settings.setting(
    None,
    'Folder of the export; an earlier export there is replaced completely. By'
    " default the folder export in the experiment's folder.",
  )
  data_dir: str | None = settings.setting(
    None, 'Folder of TensorFlow Datasets, if it has changed.'
  )
  image_dir: str | None = settings.setting(
    None, 'Folder of your own images, if it has changed.'
  )
  features_file: str | None = settings.setting(
    None, 'File of your own features, if it has changed.'
  )
  evaluate: bool = settings.setting(
    True,
    'Whether to test the exported models on the test images of the task, if'
    ' these are on the disk; nothing is downloaded.',
  )
  license: str | None = settings.setting(
    None, 'License of the model, for its card.'
  )
  intended_use: str | None = settings.setting(
    None, 'Purpose of the model, for its card.'
  )
  takes_shares: bool = settings.setting(
    False,
    'Whether TFLite models take class shares as a second input, float32 [1,'
    ' classes].',
  )


def main(export: Export) -> None:
  """Exports the model."""
  formats = export_formats.resolve(export.format)
  blame_experiment = functools.partial(
    settings.blame, 'experiment', export.experiment
  )
  with blame_experiment(
    ValueError, saved_experiment.SavedExperimentError, durable_files.OutputError
  ):
    if not export.experiment:
      raise ValueError('name the folder of an experiment')
    folder = pathlib.Path(export.experiment).absolute()
    hparams = saved_experiment.read_hparams(folder)
    experiment = restored_settings.restore(
      hparams, _where_data_are(export, hparams.flags)
    )
    trained = saved_experiment.read_trained_model(folder)
    privacy = client_privacy.describe(hparams.flags, trained.last_round)
    prior = site_shares.read(folder)
  export_path = pathlib.Path(export.export_dir or folder / 'export').absolute()
  with settings.blame('export_dir', export_path, ValueError, OSError):
    foreign = export_formats.find_foreign_file(export_path)
    if foreign is not None:
      raise ValueError(
        f'has {foreign} in it, which no export wrote and would be lost; name'
        ' another folder'
      )
  task = experiment.data.create_task(experiment.model.model.create_task)
  with blame_experiment(ValueError):
    if task.data_description != hparams.data:
      raise ValueError(
        f'was trained on other data ({hparams.data}) than the present data'
        f' ({task.data_description})'
      )
    model = experiment.model.model.create(task, seed=0)
    kinds = functional.find_weights(model)
    if kinds.frozen and trained.frozen_weights is None:
      raise ValueError(
        f'lacks {checkpoints.FROZEN_WEIGHTS}, the frozen weights of its model'
      )
    kinds.assign(trained.weights, trained.frozen_weights)
  model = phone_model = experiment.model.model.to_export(model, task)
  if export.takes_shares:
    with settings.blame('takes_shares', True):
      if prior is None:
        raise ValueError(f'the experiment has no {share_prior.NAME}')
    phone_model = tflite.take_shares(model, prior)
  calibration_images = None
  if export_formats.TFLITE_INT8 in formats:
    with settings.blame('format', export.format):
      tflite.check_is_for_integers(phone_model)
    calibration_images = export_formats.load_calibration_images(
      experiment.data, task.outside
    )
  test, why_not_tested = _load_test_images(export, task.outside)
  with (
    settings.blame(
      'export_dir',
      export_path,
      durable_files.OutputError,
      saved_model.ExportError,
    ),
    durable_files.naming(export_path, 'what was there stays as it was'),
    durable_files.replacing_folder(export_path) as path,
  ):
    files = []
    for name in formats:
      file = export_formats.write(
        name,
        path,
        model if name == export_formats.SAVED_MODEL else phone_model,
        task.class_names,
        calibration_images=calibration_images,
        privacy=privacy,
        prior=prior,
      )
      files.append(export_formats.examine(name, file, test))
    model_card.ModelCard(
      name=folder.name,
      model=model,
      class_names=task.class_names,
      hparams=hparams,
      trained=trained,
      files=files,
      why_not_tested=why_not_tested,
      privacy=privacy,
      stated={'license': export.license, 'intended use': export.intended_use},
      result=_describe_result(folder, prior),
    ).write(path)
  print(model_card.format_table(files))
  if privacy is not None:
    print(f'privacy: {privacy.headline}')
  if why_not_tested is not None:
    print(f'not tested: {why_not_tested}')
  why = ''
  if trained.choice is not None and trained.choice.metric is not None:
    why = f' ({trained.choice.describe()})'
  print(
    f'model of round {trained.round_num}{why}, with its card: {export_path}'
  )


def _describe_result(
  folder: pathlib.Path, prior: share_prior.SharePrior | None
) -> list[str]:
  lines = model_results.read_by_system(folder)
  if prior is not None:
    lines.append(site_shares.describe(prior))
  if (folder / client_results.ACCURACIES).exists():
    measured = client_results.read_accuracies(folder)
    lines.extend(client_results.describe_accuracies(measured))
  return lines


def _where_data_are(
  export: Export, recorded: Mapping[str, Any]
) -> dict[str, str]:
  """The new paths of moved data, by name of the setting."""
  instead = {}
  for name in ('data_dir', 'image_dir', 'features_file'):
    value = getattr(export, name)
    with settings.blame(name, value):
      if value is not None:
        if name not in recorded:
          raise ValueError('the task of the experiment has no such flag')
        instead[name] = value
  return instead


def _load_test_images(
  export: Export, task: image_task.ImageTask
) -> tuple[sources.LabeledImages | None, str | None]:
  """Returns (test images, None), or (None, the reason why there are none)."""
  if not export.evaluate:
    return None, 'it was not asked for, by --noevaluate'
  try:
    test = task.load_test_images(may_download=False)
  except data_errors.DataError as error:
    if export.data_dir is not None:
      raise settings.SettingError(
        'data_dir', export.data_dir, str(error)
      ) from error
    return None, f'{error}; --data_dir names another folder'
  if not len(test.labels):
    return None, 'the task has no test images'
  return test, None


if __name__ == '__main__':
  program.run(main, Export())
