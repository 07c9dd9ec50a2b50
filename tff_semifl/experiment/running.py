# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs an experiment: trains, shows progress, and exports the model."""

import asyncio
from collections.abc import Callable, Iterator
import contextlib
import traceback

from absl import logging
import tensorflow_federated as tff

from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiment import client_privacy
from tff_semifl.experiment import client_results
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import model_results
from tff_semifl.experiment import progress
from tff_semifl.experiment import release_managers
from tff_semifl.experiment import saved_experiment
from tff_semifl.experiment import site_shares
from tff_semifl.experiment import training
from tff_semifl.experiment import training_warnings
from tff_semifl.export import saved_model
from tff_semifl.files import durable_files
from tff_semifl.privacy import privacy_key

# Errors whose message suffices without a traceback.
_PLAIN = (
  durable_files.OutputError,
  runtime.NotPortableError,
  runtime.WorkerError,
  settings.SettingError,
  training.TrainingDivergedError,
)


class Result(training.ProgramState):
  """The state after the last round; a notebook shows its `summary`."""

  summary: str = ''

  def __repr__(self) -> str:
    return self.summary or super().__repr__()


def run(
  experiment: experiment_lib.Experiment,
  folder: experiment_folder.ExperimentFolder,
  *,
  quiet: bool = False,
) -> Result:
  """Trains, resuming an earlier run in the folder, and exports the model.

  A complete experiment is neither trained nor exported again.

  `quiet` hides progress on standard error.

  Returns:
    The state after the last round. With the setting `keep_best`, the exported
    model comes from round `final.best.round_num`.

  Raises:
    settings.SettingError: If one of `release_managers` or `metrics` fails.
    training.TrainingDivergedError: If training diverges.
    durable_files.OutputError: If the folder is no longer writable, or contains
      a damaged file.
    Exception: Errors of a method, with notes that name client, round and the
      file of the traceback.
  """
  with _noting_log(folder):
    final = _train(experiment, folder, quiet)
  kept = saved_experiment.read_trained_model(folder.path)
  experiment.classifier.variables.assign(kept.weights)
  privacy = None
  if experiment.settings.private_mean is not None:
    privacy = client_privacy.read(folder.path, final.round_num)
  if folder.has_export:
    prior = site_shares.read(folder.path)
  else:
    prior = site_shares.find_and_write(experiment, folder.path, kept)
  # Exports in other formats, or with other settings, are kept.
  if not folder.has_export:
    with (
      durable_files.naming(folder.export_path),
      durable_files.replacing_folder(folder.export_path) as path,
    ):
      saved_model.export_saved_model(
        experiment.settings.model.model.to_export(
          experiment.model, experiment.task
        ),
        experiment.task.class_names,
        path,
        privacy,
        prior=prior,
      )
  model_results.write_by_system(experiment, folder.path, kept)
  if experiment.run.client_accuracy:
    client_results.write_accuracies(
      folder.path, experiment, kept.weights, prior
    )
  if privacy is not None:
    # The model and the key together reveal the model without noise.
    privacy_key.remove(folder.path / privacy_key.NAME)
  result = Result(*final)
  result.summary = (
    f'{model_results.describe_accuracy(experiment, kept)}\n'
    f'SavedModel: {folder.export_path}'
  )
  return result


def describe_early_end(
  experiment: experiment_lib.Experiment, final: training.ProgramState
) -> str | None:
  """One line on early stopping; None if all rounds were run."""
  choice, total_rounds = experiment.model_choice, experiment.total_rounds
  if choice is None or final.round_num >= total_rounds:
    return None
  return (
    f'stopped after round {final.round_num} of {total_rounds}: no gain of'
    f' {choice.column} in {final.best.num_since} evaluations'
  )


@contextlib.contextmanager
def _noting_log(folder: experiment_folder.ExperimentFolder) -> Iterator[None]:
  """Appends tracebacks of unexpected errors to the log, and adds a note."""
  try:
    yield
  except _PLAIN:
    raise
  except Exception as error:
    with contextlib.suppress(OSError), folder.log_path.open('a') as file:
      traceback.print_exception(error, file=file)
      error.add_note(f'The traceback is in {folder.log_path}.')
    raise


def _train(
  experiment: experiment_lib.Experiment,
  folder: experiment_folder.ExperimentFolder,
  quiet: bool,
) -> training.ProgramState:
  with (
    progress.open_log(folder.log_path) as write,
    progress.Display(folder.path.name, experiment.total_rounds) as display,
    _own_event_loop() as loop,
  ):
    observer = Observer(experiment, folder, write, None if quiet else display)
    managers, chosen = [], experiment.run.release_managers
    if chosen:
      recorded = experiment_folder.recorded_settings(experiment)
      recorded['system'] = experiment.settings.system_name
      managers = release_managers.create(chosen, folder.path, recorded)
    if experiment.run.tensorboard:
      managers.append(progress.TensorBoardLog(folder.path / 'logdir'))
    final = loop.run_until_complete(
      training.train(
        experiment,
        checkpoints=folder.checkpoints(),
        metrics_manager=tff.program.GroupingReleaseManager(
          [experiment_folder.MetricsFile(folder.metrics_path), *managers]
        ),
        memories=experiment.settings.system.create_memories(
          experiment.process,
          folder.path,
          num_clients=experiment.clients.num_clients,
          num_kept=experiment_folder.NUM_CHECKPOINTS
          * experiment.rounds_per_evaluation,
        ),
        on_start=observer.start,
        on_round=observer.show_round,
      )
    )
    observer.end(final)
    return final


class Observer:
  """Reports the progress of a run: log, display and warnings.

  `write` adds a line to the log; `display` is None for a quiet run.
  """

  def __init__(
    self,
    experiment: experiment_lib.Experiment,
    folder: experiment_folder.ExperimentFolder,
    write: Callable[[str], None],
    display: progress.Display | None,
  ):
    self._experiment = experiment
    self._folder = folder
    self._write = write
    self._display = display
    self._warnings = training_warnings.TrainingWarnings(
      folder.path.name, experiment
    )

  def start(self, first_round: int) -> None:
    experiment, folder = self._experiment, self._folder
    if first_round > experiment.total_rounds:
      self._show(
        f'was complete after round {first_round - 1}; nothing to train'
      )
    else:
      for problem in training_warnings.find_problems(experiment):
        logging.warning('%s: %s', folder.path.name, problem)
      for note in experiment.data.equal_images:
        self._write(note)
      if first_round:
        self._show(f'resumed after round {first_round - 1}')
      for line in (*folder.changes, *training_warnings.find_facts(experiment)):
        self._show(line)
      self._show(f'compiling and running round {first_round}', first_round)

  def show_round(
    self, round_num: int, metrics: metrics_table.RoundMetrics
  ) -> None:
    text = progress.describe_round(
      round_num, self._experiment.total_rounds, metrics
    )
    self._show(text, round_num + 1)
    # Warnings follow the line of their round.
    self._warnings.check_round(round_num, metrics)

  def end(self, final: training.ProgramState) -> None:
    line = describe_early_end(self._experiment, final)
    if line is not None:
      self._show(line)

  def _show(self, text: str, next_round: int | None = None) -> None:
    self._write(text)
    if self._display is not None:
      self._display.show(text, next_round)


@contextlib.contextmanager
def _own_event_loop() -> Iterator[asyncio.AbstractEventLoop]:
  """Yields an event loop, even if another loop runs, as in Jupyter."""
  outer = asyncio._get_running_loop()
  asyncio._set_running_loop(None)
  try:
    # `asyncio.run` would delay an interrupt until the round ends.
    with contextlib.closing(asyncio.new_event_loop()) as loop:
      yield loop
  finally:
    asyncio._set_running_loop(outer)
