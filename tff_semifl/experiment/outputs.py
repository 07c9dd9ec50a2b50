# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The folder of an experiment: the files of a run, and their lock."""

from collections.abc import Collection, Sequence
import fcntl
import gc
import os
import pathlib
from typing import IO

import numpy as np

from tff_semifl.experiment import checkpoints as checkpoints_lib
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import metrics_table
from tff_semifl.files import durable_files
from tff_semifl.privacy import privacy_key

_LOCK_NAME = '.lock'
# Saved once, not in each checkpoint.
FROZEN_WEIGHTS_NAME = 'frozen_weights.npz'
NUM_CHECKPOINTS = 3
BEST_MODELS_NAME = 'best_models'


class ExperimentFolder:
  """The folder `<output_dir>/<experiment_name>`, created if it is missing.

  Contains `hparams.json`, `metrics.csv`, `log.txt`, `checkpoints/` and
  `export/`; optionally `best_models/`, `client_states/`, `logdir/`, `figures/`
  and `frozen_weights.npz`; and the key of a private run until the run is
  complete.

  Attributes:
    path: The folder.
    export_path: The folder of exported models.
    metrics_path: The table of metrics, with a row for each evaluated round.
    log_path: The run's log.
    figures_path: The folder of PNG figures of the data.
    hparams: The settings that must not change on resuming, by name.
  """

  def __init__(
    self,
    path: pathlib.Path,
    now: hparams_file.Hparams,
    may_change: Collection[str] = (),
    length: hparams_file.Length = hparams_file.UNKNOWN_LENGTH,
  ):
    """Locks a folder that is new or belongs to the same experiment.

    Args:
      path: The folder.
      now: The present settings, to record or to compare with the record.
      may_change: Names of flags that may have another value when the
        experiment is resumed.
      length: The flags that set the length of training; see `record_length`.

    Raises:
      durable_files.OutputError: If the folder cannot be written to, is in use,
        or belongs to an experiment with another system, other flags, other
        parts or other data.
    """
    self.path = path
    self.export_path = path / 'export'
    self.metrics_path = path / 'metrics.csv'
    self.log_path = path / 'log.txt'
    self.figures_path = path / 'figures'
    self.hparams = {
      name: value for name, value in now.flags.items() if name not in may_change
    }
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
        # The error's traceback may keep this object, and so the lock, alive.
        self._lock_file.close()
        raise
    except OSError as error:
      raise durable_files.OutputError(
        f'cannot write to {path}: {error.strerror}; choose another --output_dir'
      ) from error

  @property
  def changes(self) -> list[str]:
    """Lines from `Hparams.describe_changes`; empty for a new folder."""
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
    """The checkpoints."""
    return checkpoints_lib.Checkpoints(
      self.path / 'checkpoints', num_kept=NUM_CHECKPOINTS
    )

  def best_models(self) -> checkpoints_lib.BestModels:
    """The models of the best rounds."""
    return checkpoints_lib.BestModels(
      self.path / BEST_MODELS_NAME, num_kept=NUM_CHECKPOINTS + 1
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

  def keep_frozen_weights(self, weights: Sequence[np.ndarray]) -> None:
    """Saves the frozen weights, or checks that the saved weights are equal."""
    path = self.path / FROZEN_WEIGHTS_NAME
    if not path.exists():
      durable_files.write_arrays(path, list(weights))
      return
    try:
      kept = durable_files.pack_as(
        list(weights), durable_files.read_arrays(path)
      )
      is_same = all(map(np.array_equal, kept, weights))
    except (durable_files.DamagedFileError, ValueError):
      is_same = False
    if not is_same:
      raise durable_files.OutputError(
        f'{path} has other frozen weights than the model has now: the run was'
        ' begun with another file of weights. Put that back, or train anew with'
        ' another --experiment_name'
      )

  def keep_privacy_key(
    self, key: privacy_key.PrivacyKey, last_round: int
  ) -> None:
    """Saves the key of a private run, so that the run can be resumed.

    `last_round` is the run's last round. Raises an OutputError if an incomplete
    run was begun with another key, or if the key cannot be kept secret.
    """
    path = self.path / privacy_key.NAME
    found = privacy_key.read(path)
    if found == key:
      return
    latest = checkpoints_lib.read_latest(self.path / 'checkpoints')
    is_new = latest is None and not self.metrics_path.exists()
    if found is None and is_new:
      privacy_key.write(path, key)
    elif latest is not None and (
      self._recorded.flags.get('total_rounds') == latest[1] < last_round
    ):
      raise durable_files.OutputError(
        f'{self.path} holds a private run that is complete with'
        f' --total_rounds={latest[1]}: its secret key was removed then, without'
        ' which no round can be added; choose another --output_dir to train'
        ' anew'
      )
    elif latest is None or latest[1] < last_round:
      # Otherwise the same updates would be published twice, with different
      # noise.
      raise durable_files.OutputError(
        f'{path}, the secret key that this run was begun with, is missing or'
        ' another: its private rounds cannot be run again. Put the key back, or'
        ' train anew with another --experiment_name'
      )

  def remove_privacy_key(self) -> None:
    """Removes the key of a complete private run, if there is one."""
    privacy_key.remove(self.path / privacy_key.NAME)

  def metrics_manager(self) -> metrics_table.MetricsFile:
    """The release manager that writes `metrics.csv`."""
    return metrics_table.MetricsFile(self.metrics_path)

  def _lock(self) -> IO[str]:
    """Locks the folder for as long as the returned file is open."""
    path = self.path / _LOCK_NAME
    durable_files.require_file(path, 'remove it, and the same command goes on')
    file = path.open('w')
    for _ in range(2):
      try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file
      except BlockingIOError:
        # The lock's holder may be an object of this program that is no longer
        # used.
        gc.collect()
    raise durable_files.OutputError(f'{self.path} is in use by another run')

  def _check_or_write_hparams(
    self, may_change: Collection[str]
  ) -> hparams_file.Hparams:
    """The recorded settings, after they are checked or written."""
    path = self.path / hparams_file.NAME
    durable_files.require_file(
      path,
      'put back the file that was there, and the same command goes on, or'
      ' choose another --output_dir',
    )
    if path.exists():
      try:
        recorded = hparams_file.read(path)
        difference = recorded.find_difference(
          self._now, may_change, self._length
        )
      except ValueError as error:
        raise durable_files.OutputError(
          f'{error}; choose another --output_dir'
        ) from error
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


def find_models(export_path: pathlib.Path) -> list[pathlib.Path]:
  """The model files in a folder of exports; empty if it does not exist."""
  return [*export_path.glob('saved_model.pb'), *export_path.glob('*.tflite')]
