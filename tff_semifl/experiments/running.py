# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs an experiment: trains, shows progress, and exports the model."""

import asyncio
from collections.abc import Iterator
import contextlib
import traceback
from typing import cast

from absl import logging
import numpy as np
import tensorflow_federated as tff

from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiments import accuracy_of_clients
from tff_semifl.experiments import client_classes
from tff_semifl.experiments import client_privacy
from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.experiments import experiment_folder
from tff_semifl.experiments import measured_in_words
from tff_semifl.experiments import plan
from tff_semifl.experiments import release_managers
from tff_semifl.export import saved_model
from tff_semifl.files import durable_files
from tff_semifl.metrics import measurement
from tff_semifl.runs import metrics_table
from tff_semifl.runs import outputs
from tff_semifl.runs import progress
from tff_semifl.runs import round_metrics
from tff_semifl.runs import saved_experiment
from tff_semifl.runs import tensorboard_log
from tff_semifl.runs import training
from tff_semifl.runs import training_program
from tff_semifl.runs import training_warnings

# Errors whose message is enough, without a traceback.
_PLAIN = (
  durable_files.OutputError,
  measurement.MetricError,
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
    model is that of round `final.best.round_num`.

  Raises:
    settings.SettingError: If one of `release_managers` or `metrics` fails.
    training.TrainingDivergedError: If training diverges.
    durable_files.OutputError: If the folder is no longer writable, or contains
      a damaged file.
    Exception: Whatever a method raises, with notes that name client, round and
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
  measured_in_words.write_by_system(experiment, folder, kept)
  if experiment.run.client_accuracy:
    accuracy_of_clients.write(folder.path, experiment, kept.weights)
  if experiment.run.client_classes:
    client_classes.write(folder.path, experiment, kept.weights)
  # Whoever has the model and the key has the model without noise.
  folder.remove_privacy_key()
  return final


def describe_early_end(
  experiment: experiment_lib.Experiment, final: training_program.ProgramState
) -> str | None:
  """A line on early stopping; None if all rounds were run."""
  choice, total_rounds = experiment.model_choice, experiment.total_rounds
  if choice is None or final.round_num >= total_rounds:
    return None
  return (
    f'stopped after round {final.round_num} of {total_rounds}: no gain of'
    f' {choice.column} in {final.best.num_since} evaluations'
  )


@contextlib.contextmanager
def _noting_log(folder: outputs.ExperimentFolder) -> Iterator[None]:
  """Appends the traceback of a method's error to the log, and notes that."""
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
  name, total_rounds = folder.path.name, experiment.total_rounds
  threshold = experiment.used_settings.get('confidence_threshold')
  facts = [*folder.changes, *plan.find_facts(experiment)]
  narration = progress.Narration(total_rounds, facts)
  warnings = training_warnings.TrainingWarnings(
    name,
    clients_per_round=experiment.clients.clients_per_round,
    num_classes=experiment.task.num_classes,
    num_test_images=len(experiment.data.test.labels),
    confidence_threshold=threshold,
  )
  tensorboard = None
  if experiment.run.tensorboard:
    tensorboard = tensorboard_log.TensorBoardLog(folder.path / 'logdir')
  is_json = experiment.run.log_format == 'json'
  with contextlib.ExitStack() as stack:
    write = stack.enter_context(progress.open_log(folder.log_path))
    display = stack.enter_context(progress.Display(name, total_rounds))
    loop = stack.enter_context(_own_event_loop())

    def show(text: str, next_round: int | None = None) -> None:
      write(text)
      if not quiet and not is_json:
        display.show(text, next_round)

    def on_start(first_round: int) -> None:
      is_complete = first_round > total_rounds
      if not is_complete:
        for problem in plan.find_problems(experiment):
          logging.warning('%s: %s', name, problem)
        for note in experiment.data.equal_images:
          write(note)
      *before, last = narration.start(first_round)
      for line in before:
        show(line)
      show(last, None if is_complete else first_round)
      if tensorboard is not None:
        tensorboard.start(
          first_round,
          metrics_table.read_metrics(folder.metrics_path),
          folder.hparams,
          sorted(folder.figures_path.glob('*.png')),
        )

    def on_round(round_num: int, metrics: round_metrics.RoundMetrics) -> None:
      show(narration.describe_round(round_num, metrics), round_num + 1)
      if is_json and not quiet:
        progress.print_json(name, round_num, metrics)
      if tensorboard is not None:
        tensorboard.show_round(round_num, metrics)
      warnings.check_round(round_num, metrics)

    others = release_managers.create(
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
          folder,
          num_clients=experiment.clients.num_clients,
          num_kept=outputs.NUM_CHECKPOINTS * experiment.rounds_per_evaluation,
        ),
        best_models=folder.best_models() if experiment.model_choice else None,
        on_start=on_start,
        on_round=on_round,
      )
    )
    ended_early = describe_early_end(experiment, final)
    metrics = metrics_table.read_metrics(folder.metrics_path)
    idle = training_warnings.describe_idle_rounds(metrics, threshold)
    for line in filter(None, (ended_early, idle)):
      show(line)
    if ended_early is not None:
      for manager in others:
        manager.finish()
    return final


@contextlib.contextmanager
def _own_event_loop() -> Iterator[asyncio.AbstractEventLoop]:
  """Yields an event loop, even where another one runs, as in Jupyter."""
  outer = asyncio._get_running_loop()
  asyncio._set_running_loop(None)
  try:
    # Not `asyncio.run`, which would delay an interrupt to the end of the round.
    with contextlib.closing(asyncio.new_event_loop()) as loop:
      yield loop
  finally:
    asyncio._set_running_loop(outer)


def _draw_data(
  experiment: experiment_lib.Experiment, folder: outputs.ExperimentFolder
) -> None:
  # Imported here: Matplotlib takes as long to import as a round of digits.
  from tff_semifl.experiments import data_figures

  data = experiment.data
  # Some systems have no image at the server.
  images = (data.labeled if len(data.labeled.labels) else data.unlabeled).images
  if experiment.mapped_images is not None:
    images = experiment.mapped_images.read(images).numpy()
  data_figures.draw(
    folder.figures_path,
    task=experiment.task,
    data=data,
    title=experiment.settings.data.title,
    # An array by now: the images are in memory, or were read from the file.
    images=cast(np.ndarray, images),
    seed=experiment.settings.seed,
  )
