# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs an experiment: trains, shows progress, and exports the model."""

import asyncio
from collections.abc import Callable, Iterator
import contextlib
import traceback
from typing import cast

from absl import logging
import numpy as np
import tensorflow_federated as tff

from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiment import accuracy_of_clients
from tff_semifl.experiment import client_classes
from tff_semifl.experiment import client_privacy
from tff_semifl.experiment import evaluated_images
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import model_selection
from tff_semifl.experiment import outputs
from tff_semifl.experiment import plan
from tff_semifl.experiment import progress
from tff_semifl.experiment import round_metrics
from tff_semifl.experiment import run_settings
from tff_semifl.experiment import saved_experiment
from tff_semifl.experiment import training
from tff_semifl.experiment import training_program
from tff_semifl.experiment import training_warnings
from tff_semifl.export import saved_model
from tff_semifl.files import durable_files

# Errors whose message suffices, without a traceback.
_PLAIN = (
  durable_files.OutputError,
  model_selection.MetricError,
  runtime.NotPortableError,
  runtime.WorkerError,
  settings.SettingError,
  training.TrainingDivergedError,
)


def run(
  experiment: experiment_lib.Experiment,
  folder: outputs.ExperimentFolder,
  *,
  quiet: bool = False,
) -> training_program.ProgramState:
  """Trains, resuming an earlier run in the folder, and exports the model.

  A complete experiment whose model was exported is left unchanged.

  Args:
    experiment: The experiment.
    folder: The folder of the results.
    quiet: Whether to show no progress on standard error.

  Returns:
    The state after the last round. With the setting `keep_best`, the exported
    model comes from round `final.best.round_num`.

  Raises:
    settings.SettingError: If one of `release_managers` or `metrics` fails.
    training.TrainingDivergedError: If training diverges.
    durable_files.OutputError: If the folder is no longer writable, or contains
      a damaged file.
    Exception: Any error of a method, with notes that name client, round and
      the file of the traceback.
  """
  with _noting_log(folder):
    final = _train(experiment, folder, quiet)
  kept = saved_experiment.read_trained_model(folder.path)
  experiment.classifier.variables.assign(kept.weights)
  # Exports in other formats or with other settings are kept.
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
        client_privacy.read(folder.path, final.round_num),
        background=experiment.task.background,
      )
  evaluated_images.write_by_system(experiment, folder, kept)
  if experiment.run.client_accuracy:
    accuracy_of_clients.write(folder.path, experiment, kept.weights)
  if experiment.run.client_classes:
    client_classes.write(folder.path, experiment, kept.weights)
  # The model and the key together reveal the model without noise.
  folder.remove_privacy_key()
  return final


def describe_early_end(
  experiment: experiment_lib.Experiment, final: training_program.ProgramState
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
def _noting_log(folder: outputs.ExperimentFolder) -> Iterator[None]:
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
  folder: outputs.ExperimentFolder,
  quiet: bool,
) -> training_program.ProgramState:
  if experiment.run.draw_data:
    _draw_data(experiment, folder)
  with (
    progress.open_log(folder.log_path) as write,
    progress.Display(folder.path.name, experiment.total_rounds) as display,
    _own_event_loop() as loop,
  ):
    observer = _Observer(experiment, folder, write, None if quiet else display)
    others = run_settings.create_managers(
      experiment.run.release_managers,
      folder.path,
      {
        'system': experiment.settings.system_name,
        **experiment_folder.recorded_settings(experiment),
      },
    )
    final = loop.run_until_complete(
      training.train(
        experiment,
        checkpoints=folder.checkpoints(),
        metrics_manager=tff.program.GroupingReleaseManager(
          [folder.metrics_manager(), *others]
        ),
        memories=experiment.settings.system.create_memories(
          experiment.process,
          folder.path,
          num_clients=experiment.clients.num_clients,
          num_kept=outputs.NUM_CHECKPOINTS * experiment.rounds_per_evaluation,
        ),
        best_models=folder.best_models() if experiment.model_choice else None,
        on_start=observer.start,
        on_round=observer.show_round,
      )
    )
    observer.end(final)
    if describe_early_end(experiment, final) is not None:
      for manager in others:
        manager.finish()
    return final


class _Observer:
  """Reports the progress of a run: log, display or JSON, TensorBoard, warnings.

  `write` adds a line to the log; `display` is None for a quiet run.
  """

  def __init__(
    self,
    experiment: experiment_lib.Experiment,
    folder: outputs.ExperimentFolder,
    write: Callable[[str], None],
    display: progress.Display | None,
  ):
    self._experiment = experiment
    self._folder = folder
    self._write = write
    self._display = display
    self._is_json = experiment.run.log_format == 'json'
    self._threshold = experiment.used_settings.get('confidence_threshold')
    self._warnings = training_warnings.TrainingWarnings(
      folder.path.name,
      clients_per_round=experiment.clients.clients_per_round,
      num_classes=experiment.task.num_classes,
      num_test_images=len(experiment.data.test.labels),
      confidence_threshold=self._threshold,
    )
    self._tensorboard = None
    if experiment.run.tensorboard:
      self._tensorboard = progress.TensorBoardLog(folder.path / 'logdir')

  def start(self, first_round: int) -> None:
    if first_round > self._experiment.total_rounds:
      self._show(
        f'was complete after round {first_round - 1}; nothing to train'
      )
    else:
      for problem in plan.find_problems(self._experiment):
        logging.warning('%s: %s', self._folder.path.name, problem)
      for note in self._experiment.data.equal_images:
        self._write(note)
      if first_round:
        self._show(f'resumed after round {first_round - 1}')
      for line in (*self._folder.changes, *plan.find_facts(self._experiment)):
        self._show(line)
      self._show(f'compiling and running round {first_round}', first_round)
    if self._tensorboard is not None:
      self._tensorboard.start(
        first_round,
        metrics_table.read_metrics(self._folder.metrics_path),
        self._folder.hparams,
        sorted(self._folder.figures_path.glob('*.png')),
      )

  def show_round(
    self, round_num: int, metrics: round_metrics.RoundMetrics
  ) -> None:
    total_rounds = self._experiment.total_rounds
    text = progress.describe_round(round_num, total_rounds, metrics)
    self._show(text, round_num + 1)
    if self._is_json and self._display is not None:
      progress.print_json(self._folder.path.name, round_num, metrics)
    if self._tensorboard is not None:
      self._tensorboard.show_round(round_num, metrics)
    # Last, so that warnings follow the line of their round.
    self._warnings.check_round(round_num, metrics)

  def end(self, final: training_program.ProgramState) -> None:
    lines = (
      describe_early_end(self._experiment, final),
      training_warnings.describe_idle_rounds(
        metrics_table.read_metrics(self._folder.metrics_path), self._threshold
      ),
    )
    for line in filter(None, lines):
      self._show(line)

  def _show(self, text: str, next_round: int | None = None) -> None:
    self._write(text)
    if self._display is not None and not self._is_json:
      self._display.show(text, next_round)


@contextlib.contextmanager
def _own_event_loop() -> Iterator[asyncio.AbstractEventLoop]:
  """Yields an event loop, even where another one runs, as in Jupyter."""
  outer = asyncio._get_running_loop()
  asyncio._set_running_loop(None)
  try:
    # Not `asyncio.run`, which would delay an interrupt until the round ends.
    with contextlib.closing(asyncio.new_event_loop()) as loop:
      yield loop
  finally:
    asyncio._set_running_loop(outer)


def _draw_data(
  experiment: experiment_lib.Experiment, folder: outputs.ExperimentFolder
) -> None:
  # Imported here: Matplotlib takes as long to import as a round of digits.
  from tff_semifl.experiment import data_figures

  data = experiment.data
  # In some systems the server has no image.
  images = (data.labeled if len(data.labeled.labels) else data.unlabeled).images
  if experiment.mapped_images is not None:
    images = experiment.mapped_images.read(images).numpy()
  data_figures.draw(
    folder.figures_path,
    task=experiment.task,
    data=data,
    title=experiment.settings.data.title,
    # An array: the images are in memory, or were read from the file above.
    images=cast(np.ndarray, images),
    seed=experiment.settings.seed,
  )
