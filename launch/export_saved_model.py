# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Exports the model of an experiment, as a SavedModel or for phones.

  python -m launch.export_saved_model --experiment=results/mine
  python -m launch.export_saved_model --experiment=results/mine \
    --format=saved_model,tflite

The model is that of the newest intact checkpoint, or the best model of a run
with --keep_best. A model card, README.md, describes the model and its accuracy.
The settings are the experiment's; if its images or features have moved, say
where they are by --data_dir, --image_dir or --features_file.
"""

import pathlib
from typing import Any

from absl import flags

from tff_semifl.cli import least_confidence_flag
from tff_semifl.cli import program
from tff_semifl.data import data_errors
from tff_semifl.data import sources
from tff_semifl.experiment import checkpoints
from tff_semifl.experiment import client_privacy
from tff_semifl.experiment import export_formats
from tff_semifl.experiment import image_task
from tff_semifl.experiment import model_results
from tff_semifl.experiment import saved_experiment
from tff_semifl.export import saved_model
from tff_semifl.export import temperature as temperature_lib
from tff_semifl.export import tflite
from tff_semifl.files import durable_files
from tff_semifl.models import weight_kinds
from tff_semifl.results import model_card

_EXPERIMENT = flags.DEFINE_string(
  'experiment', None, 'Folder of the experiment, <output_dir>/<name>.'
)
_FORMAT = flags.DEFINE_list(
  'format',
  [export_formats.SAVED_MODEL],
  f'Comma-separated formats to export: {", ".join(export_formats.NAMES)}, or'
  ' tflite for all formats of TFLite. The int8 format, which computes with'
  " integers, is calibrated with the server's labeled images.",
)
_EXPORT_DIR = flags.DEFINE_string(
  'export_dir',
  None,
  'Folder to export to; an earlier export in it is replaced completely. By'
  ' default the folder named export in that of the experiment.',
)
_DATA_DIR = flags.DEFINE_string(
  'data_dir', None, 'Folder of TensorFlow Datasets, if it has changed.'
)
_IMAGE_DIR = flags.DEFINE_string(
  'image_dir', None, 'Folder of your own images, if it has changed.'
)
_FEATURES_FILE = flags.DEFINE_string(
  'features_file', None, 'File of your own features, if it has changed.'
)
_EVALUATE = flags.DEFINE_bool(
  'evaluate',
  True,
  'Whether to test the exported models on the test images of the task, if these'
  ' are on the disk; none are downloaded.',
)

_LICENSE = flags.DEFINE_string(
  'license', None, 'License of the model, for its card.'
)
_INTENDED_USE = flags.DEFINE_string(
  'intended_use', None, 'What the model is for, for its card.'
)
_LABELS_ALONE_ACCURACY = flags.DEFINE_float(
  'labels_alone_accuracy',
  None,
  'Test accuracy of the same model trained without clients, as launch.demo'
  ' measures it, in [0, 1], for its card.',
  lower_bound=0.0,
  upper_bound=1.0,
)

_TEMPERATURE_SCALING = flags.DEFINE_bool(
  'temperature_scaling',
  False,
  'Whether to calibrate probabilities by a temperature that divides logits: the'
  ' one with the least negative log likelihood on the validation images of an'
  ' experiment with --num_validation.',
)

flags.adopt_module_key_flags(least_confidence_flag)
flags.register_validator(
  _FORMAT.name,
  lambda names: names
  and {*names} <= {*export_formats.NAMES, export_formats.ALL_TFLITE},
  message='must be some of '
  + ', '.join([*export_formats.NAMES, export_formats.ALL_TFLITE]),
)


def main() -> None:
  """Runs the program, after flags were parsed."""
  formats = export_formats.resolve(_FORMAT.value)
  with program.blame(
    _EXPERIMENT,
    ValueError,
    saved_experiment.SavedExperimentError,
    durable_files.OutputError,
  ):
    if not _EXPERIMENT.value:
      raise ValueError('name the folder of an experiment')
    folder = pathlib.Path(_EXPERIMENT.value).absolute()
    hparams = saved_experiment.read_hparams(folder)
    experiment = saved_experiment.restore(
      hparams, _where_data_are(hparams.flags)
    )
    trained = saved_experiment.read_trained_model(folder)
    privacy = client_privacy.describe(hparams.flags, trained.last_round)
  export_path = pathlib.Path(_EXPORT_DIR.value or folder / 'export').absolute()
  _check_is_replaceable(export_path)
  task = experiment.data.create_task(experiment.model.model.create_task)
  with program.blame(_EXPERIMENT, ValueError):
    if task.data_description != hparams.data:
      raise ValueError(
        f'was trained on other data ({hparams.data}) than there are now'
        f' ({task.data_description})'
      )
    model = experiment.model.model.create_to_assign(task)
    kinds = weight_kinds.find(model)
    if kinds.frozen and trained.frozen_weights is None:
      raise ValueError(
        f'lacks {checkpoints.FROZEN_WEIGHTS}, the frozen weights of its model'
      )
    kinds.assign(trained.weights, trained.frozen_weights)
  temperature = None
  if _TEMPERATURE_SCALING.value:
    with program.blame(_TEMPERATURE_SCALING, ValueError):
      temperature = export_formats.fit_temperature(
        model, export_formats.load_validation_images(experiment.data, task)
      )
  model = experiment.model.model.to_export(model, task)
  if temperature is not None:
    model = temperature_lib.apply(model, temperature)
  least_confidence = least_confidence_flag.check(task.class_names) or 0.0
  calibration_images = None
  if export_formats.TFLITE_INT8 in formats:
    with program.blame(_FORMAT, ValueError):
      tflite.check_is_for_integers(model)
    calibration_images = export_formats.load_calibration_images(
      experiment.data, task.outside
    )
  test, why_not_tested = _load_test_images(task.outside)
  with (
    program.blame(
      _EXPORT_DIR,
      durable_files.OutputError,
      saved_model.ExportError,
      value=export_path,
    ),
    durable_files.naming(export_path, 'what was there stays as it was'),
    durable_files.replacing_folder(export_path) as path,
  ):
    files = []
    for name in formats:
      file = export_formats.write(
        name,
        path,
        model,
        task.class_names,
        calibration_images=calibration_images,
        privacy=privacy,
        least_confidence=least_confidence,
        background=task.background,
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
      least_confidence=least_confidence,
      stated={
        'license': _LICENSE.value,
        'intended use': _INTENDED_USE.value,
        'accuracy of the labels alone': None
        if _LABELS_ALONE_ACCURACY.value is None
        else f'{_LABELS_ALONE_ACCURACY.value:.1%}',
      },
      temperature=temperature,
      result=model_results.read_by_system(folder),
    ).write(path)
  print(model_card.format_table(files))
  if temperature is not None:
    print(
      f'temperature: {temperature.value:.4g}, of {temperature.num_images}'
      f' validation images: their NLL is {temperature.nll_after:.4f}, and'
      f' {temperature.nll_before:.4f} without'
    )
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


def _where_data_are(values: dict[str, Any]) -> dict[str, str]:
  """The new paths of moved data, by name of the setting."""
  instead = {}
  for flag in (_DATA_DIR, _IMAGE_DIR, _FEATURES_FILE):
    with program.blame(flag, ValueError):
      if flag.value is not None:
        if flag.name not in values:
          raise ValueError('the task of the experiment has no such flag')
        instead[flag.name] = flag.value
  return instead


def _check_is_replaceable(path: pathlib.Path) -> None:
  """Checks that a folder is empty or holds only an earlier export."""
  with program.blame(_EXPORT_DIR, ValueError, OSError, value=path):
    foreign = export_formats.find_foreign_file(path)
    if foreign is not None:
      raise ValueError(
        f'has {foreign} in it, which no export wrote and would be lost; name'
        ' another folder'
      )


def _load_test_images(
  task: image_task.ImageTask,
) -> tuple[sources.LabeledImages | None, str | None]:
  """The test images and None, or None and the reason."""
  if not _EVALUATE.value:
    return None, f'it was not asked for, by --no{_EVALUATE.name}'
  try:
    test = task.load_test_images(may_download=False)
  except data_errors.DataError as error:
    if _DATA_DIR.value is not None:
      raise program.FlagError(
        f'flag --data_dir={_DATA_DIR.value}: {error}'
      ) from error
    return None, f'{error}; --data_dir names another folder'
  if not len(test.labels):
    return None, 'the task has no test images'
  return test, None


if __name__ == '__main__':
  program.run(main)
