# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The folder of an experiment: the files of a run, and their lock."""

from collections.abc import Collection, Mapping, Sequence
import csv
import fcntl
import gc
import io
import math
import os
import pathlib
import types
from typing import IO, Any

import tensorflow_federated as tff

from tff_semifl import settings as settings_lib
from tff_semifl.experiment import checkpoints as checkpoints_lib
from tff_semifl.experiment import client_privacy
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import image_task
from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import restored_settings
from tff_semifl.experiment import run_settings
from tff_semifl.files import durable_files

_LOCK_NAME = '.lock'
NUM_CHECKPOINTS = 3


class ExperimentFolder:
  """The folder `<output_dir>/<experiment_name>`, created if it is missing.

  docs/experiment_folder.md lists its files.
  """

  def __init__(
    self,
    path: pathlib.Path,
    now: hparams_file.Hparams,
    may_change: Collection[str] = (),
    length: hparams_file.Length = hparams_file.UNKNOWN_LENGTH,
  ):
    """Creates or opens an experiment's folder, and locks the folder.

    A new folder records the settings `now`. An existing folder must have the
    same settings, except for the flags `may_change` and a `length` that may
    grow. Raises an OutputError if the folder is in use, not writable, or of
    another experiment.
    """
    self.path = path
    self.export_path = path / 'export'
    self.metrics_path = path / 'metrics.csv'
    self.log_path = path / 'log.txt'
    self._now = now
    self._length = length
    try:
      path.mkdir(parents=True, exist_ok=True)
      if not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(13, 'Permission denied')
      self._lock_file = self._lock()
      try:
        self._recorded = self._check_or_write_hparams(may_change)
      except BaseException:
        # The error's traceback may keep this object and its lock alive.
        self._lock_file.close()
        raise
    except OSError as error:
      raise durable_files.OutputError(
        f'cannot write to {path}: {error.strerror}; choose another --output_dir'
      ) from error

  @property
  def changes(self) -> list[str]:
    """Lines on changed versions and hardware; empty for a new folder."""
    return self._recorded.describe_changes(self._now)

  @property
  def has_checkpoint(self) -> bool:
    """Whether there is a checkpoint to resume from."""
    return any(self.path.glob('checkpoints/*.npz'))

  @property
  def has_export(self) -> bool:
    """Whether a model was exported after the last checkpoint."""
    written = [
      path.stat().st_mtime_ns for path in self.path.glob('checkpoints/*.npz')
    ]
    return bool(written) and any(
      path.stat().st_mtime_ns >= max(written)
      for path in find_models(self.export_path)
    )

  def checkpoints(self) -> checkpoints_lib.Checkpoints:
    return checkpoints_lib.Checkpoints(
      self.path / 'checkpoints', num_kept=NUM_CHECKPOINTS
    )

  def record_length(self) -> None:
    """Updates the recorded length of training, if rounds were added."""
    lengths = {name: self._now.flags[name] for name in self._length.names}
    recorded = self._recorded._replace(
      flags={**self._recorded.flags, **lengths}
    )
    if recorded != self._recorded:
      hparams_file.write(self.path / hparams_file.NAME, recorded)
      self._recorded = recorded

  def _lock(self) -> IO[str]:
    """Locks the folder while the returned file is open."""
    path = self.path / _LOCK_NAME
    file = path.open('w')
    for _ in range(2):
      try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file
      except BlockingIOError:
        # An unused object of this program may still hold the lock.
        gc.collect()
    raise durable_files.OutputError(f'{self.path} is in use by another run')

  def _check_or_write_hparams(
    self, may_change: Collection[str]
  ) -> hparams_file.Hparams:
    """Returns the recorded settings, after checking or writing them."""
    path = self.path / hparams_file.NAME
    if path.exists():
      try:
        recorded = hparams_file.read(path)
      except ValueError as error:
        raise durable_files.OutputError(
          f'{error}; choose another --output_dir'
        ) from error
      difference = restored_settings.find_difference(
        recorded, self._now, may_change, self._length
      )
      if difference is not None:
        raise durable_files.OutputError(
          f'{self.path} holds {difference}; choose another --output_dir, or'
          ' repeat its flags to resume it'
        )
      return recorded
    # A kill may have left these files before `hparams.json` was complete.
    ours = (_LOCK_NAME, durable_files.temporary_path(path).name)
    if any(path.name not in ours for path in self.path.iterdir()):
      raise durable_files.OutputError(
        f'{self.path} is not empty and holds no experiment; choose another'
        ' --output_dir'
      )
    hparams_file.write(path, self._now)
    return self._now


class MetricsFile(tff.program.ReleaseManager):
  """A CSV file with a row for each evaluated round; new columns come last."""

  def __init__(self, path: pathlib.Path):
    """Reads the table; raises an OutputError if damaged or not writable."""
    self._path = path
    with durable_files.naming(path):
      try:
        self._columns, self._rows = metrics_table.read_rows(path)
      except (csv.Error, ValueError) as error:
        raise durable_files.OutputError(
          f'{path} is damaged: {error}; put a good copy in its place, or remove'
          ' it, and the table begins with the next round'
        ) from error
      self._write()

  async def release(
    self, value: tff.program.ReleasableStructure, key: int
  ) -> None:
    """Writes a round's row in place of the rows of this and later rounds.

    The row is on the disk when `release` returns. NaN becomes an empty cell.
    """
    values = {metrics_table.KEY: key, **metrics_table.by_column(value)}
    with durable_files.naming(self._path):
      self._columns = [*dict.fromkeys([*self._columns, *values])]
      self._rows = [
        row for row in self._rows if int(row[metrics_table.KEY]) < key
      ]
      self._rows.append(
        {k: '' if math.isnan(v) else str(v) for k, v in values.items()}
      )
      self._write()

  def _write(self) -> None:
    table = io.StringIO()
    writer = csv.DictWriter(table, self._columns, lineterminator='\n')
    writer.writeheader()
    writer.writerows(self._rows)
    durable_files.write_text(self._path, table.getvalue())


def find_models(export_path: pathlib.Path) -> list[pathlib.Path]:
  """The model files in a folder of exports; empty if it does not exist."""
  return [*export_path.glob('saved_model.pb'), *export_path.glob('*.tflite')]


def open_folder(
  experiment: experiment_lib.Experiment,
  computed: Mapping[str, Any] = types.MappingProxyType({}),
) -> ExperimentFolder:
  """Creates or opens an experiment's folder.

  `computed` has the runtime's settings by name, which are recorded but may
  change when the run is resumed.

  Raises:
    durable_files.OutputError: If the folder is not writable, holds another
      experiment, or lacks the key of a private experiment.
  """
  folder = take_folder(
    experiment.settings,
    experiment.run,
    experiment.task,
    {**recorded_settings(experiment), **computed},
    experiment.data.notes,
  )
  frozen = experiment.classifier.variables.frozen
  if frozen:
    checkpoints_lib.keep_frozen_weights(
      folder.path, [weight.numpy() for weight in frozen]
    )
  if experiment.privacy_key is not None:
    client_privacy.keep_key(
      folder.path, experiment.privacy_key, experiment.total_rounds
    )
  folder.record_length()
  return folder


def take_folder(
  settings: experiment_settings.ExperimentSettings,
  run: run_settings.RunSettings,
  task: image_task.ImageTask,
  recorded: Mapping[str, Any],
  notes: Sequence[str] = (),
) -> ExperimentFolder:
  """Creates or opens an experiment's folder, without building the experiment.

  `settings` and `run` must be filled in. `recorded` has all settings to record,
  by name; `notes` are remarks on the data.
  """
  part = settings.data.task
  return ExperimentFolder(
    run.path,
    hparams_file.create(
      recorded,
      system=settings.system_name,
      data=task.data_description,
      parts={
        **settings.identify(),
        **run.identify(settings.selection.keep_best),
      },
      notes=notes,
    ),
    {
      *run_settings.UNIMPORTANT,
      *settings.selection.may_change,
      *part.told_by_data,
      *settings.model.model.may_change,
      *(experiment_settings.SIZES if part.gives_shares else ()),
    },
    hparams_file.Length(
      ('total_rounds', *settings.system.lengths),
      may_grow=settings.system.rounds_may_be_added,
    ),
  )


def recorded_settings(experiment: experiment_lib.Experiment) -> dict[str, Any]:
  """All settings to record, by name, with numbers of labels and clients."""
  given = {}
  if experiment.settings.data.task.gives_shares:
    num_labeled = len(experiment.data.labeled.labels)
    if experiment.validates:
      num_labeled += len(experiment.data.test.labels)
    sizes = num_labeled, len(experiment.data.shares)
    given = dict(zip(experiment_settings.SIZES, sizes, strict=True))
  return {**given, **record(experiment.settings, experiment.run)}


def record(
  settings: experiment_settings.ExperimentSettings,
  run: run_settings.RunSettings,
) -> dict[str, Any]:
  """Settings by name, with `total_rounds` even if it is not a setting."""
  return {
    'total_rounds': settings.system.total_rounds,
    **settings_lib.as_dict(settings),
    **settings_lib.as_dict(run),
  }
