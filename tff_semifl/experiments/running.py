# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs an experiment: trains, shows progress, and exports the model."""

import asyncio
from collections.abc import Iterator
import contextlib
from typing import cast

from absl import logging
import numpy as np
import tensorflow_federated as tff

from tff_semifl.experiments import accuracy_of_clients
from tff_semifl.experiments import before_training
from tff_semifl.experiments import client_classes
from tff_semifl.experiments import client_privacy
from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.experiments import experiment_folder
from tff_semifl.experiments import failures
from tff_semifl.experiments import kept_model
from tff_semifl.experiments import measured_in_words
from tff_semifl.experiments import release_managers
from tff_semifl.export import saved_model
from tff_semifl.files import durable_files
from tff_semifl.runs import idle_rounds
from tff_semifl.runs import json_lines
from tff_semifl.runs import metrics_table
from tff_semifl.runs import outputs
from tff_semifl.runs import progress
from tff_semifl.runs import round_metrics
from tff_semifl.runs import run_log
from tff_semifl.runs import training
from tff_semifl.runs import training_program
from tff_semifl.runs import training_warnings


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
    Exception: Whatever a method raises, with notes that say where; see
      `failures.explaining`.
  """
  with failures.explaining(experiment, folder):
    final = _train(experiment, folder, quiet)
  kept = kept_model.load(experiment, folder, final)
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


def _train(
  experiment: experiment_lib.Experiment,
  folder: outputs.ExperimentFolder,
  quiet: bool,
) -> training_program.ProgramState:
  program = experiment.training_program
  with (
    _watchers(experiment, folder, quiet) as watchers,
    _own_event_loop() as loop,
  ):

    def on_start(first_round: int) -> None:
      if first_round <= program.total_rounds:
        for problem in before_training.find_problems(experiment):
          logging.warning('%s: %s', folder.path.name, problem)
      for watcher in watchers:
        watcher.start(first_round)

    def on_round(round_num: int, metrics: round_metrics.RoundMetrics) -> None:
      for watcher in watchers:
        watcher.show_round(round_num, metrics)

    others = _create_managers(experiment, folder)
    final = loop.run_until_complete(
      training.train(
        program,
        state_manager=folder.state_manager(),
        metrics_manager=tff.program.GroupingReleaseManager(
          [folder.metrics_manager(), *others]
        ),
        memories=experiment.settings.system.create_memories(
          program.process,
          folder,
          num_clients=experiment.clients.num_clients,
          num_kept=outputs.NUM_CHECKPOINTS * program.rounds_per_evaluation,
        ),
        best_models=folder.best_models() if program.model_choice else None,
        on_start=on_start,
        on_round=on_round,
      )
    )
    ended_early = kept_model.describe_end(experiment, final)
    for line in (ended_early, _describe_idle_rounds(experiment, folder)):
      for watcher in watchers:
        if line is not None and isinstance(
          watcher, run_log.RunLog | progress.Progress
        ):
          watcher.say(line)
    if ended_early is not None:
      for manager in others:
        manager.finish()
    return final


def _describe_idle_rounds(
  experiment: experiment_lib.Experiment, folder: outputs.ExperimentFolder
) -> str | None:
  return idle_rounds.describe(
    metrics_table.read_metrics(folder.metrics_path),
    experiment.used_settings.get('confidence_threshold'),
  )


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


def _create_managers(
  experiment: experiment_lib.Experiment, folder: outputs.ExperimentFolder
) -> list[release_managers.NamedManager]:
  return release_managers.create(
    experiment.run.release_managers,
    folder.path,
    {
      'system': experiment.settings.system_name,
      **experiment_folder.recorded_settings(experiment),
    },
  )


@contextlib.contextmanager
def _watchers(
  experiment: experiment_lib.Experiment,
  folder: outputs.ExperimentFolder,
  quiet: bool,
) -> Iterator[list[progress.Watcher]]:
  if experiment.run.draw_data:
    _draw_data(experiment, folder)
  name = folder.path.name
  total_rounds = experiment.training_program.total_rounds
  facts = [*folder.changes, *before_training.find_facts(experiment)]
  with contextlib.ExitStack() as stack:
    watchers: list[progress.Watcher] = [
      stack.enter_context(folder.run_log(total_rounds, facts))
    ]
    if not quiet:
      if experiment.run.log_format == 'json':
        watchers.append(json_lines.JSONLines(name))
      else:
        watchers.append(
          stack.enter_context(progress.Progress(name, total_rounds, facts))
        )
    if experiment.run.tensorboard:
      watchers.append(folder.tensorboard_log())
    # Last, so that warnings follow the line of their round.
    watchers.append(
      training_warnings.TrainingWarnings(
        name,
        clients_per_round=experiment.clients.clients_per_round,
        num_classes=experiment.task.num_classes,
        num_test_images=len(experiment.data.test.labels),
        confidence_threshold=experiment.used_settings.get(
          'confidence_threshold'
        ),
      )
    )
    yield watchers


def _draw_data(
  experiment: experiment_lib.Experiment, folder: outputs.ExperimentFolder
) -> None:
  # Imported here: Matplotlib takes as long to import as a round of digits.
  from tff_semifl.experiments import data_figures

  data = experiment.data
  # Some systems have no image at the server.
  images = (data.labeled if len(data.labeled.labels) else data.unlabeled).images
  mapped = experiment.training_program.mapped_images
  if mapped is not None:
    images = mapped.read(images).numpy()
  data_figures.draw(
    folder.figures_path,
    task=experiment.task,
    data=data,
    title=experiment.settings.data.title,
    # An array by now: the images are in memory, or were read from the file.
    images=cast(np.ndarray, images),
    seed=experiment.settings.seed,
  )
