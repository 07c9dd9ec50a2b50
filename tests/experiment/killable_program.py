# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A small training program that is run in a process and killed.

NumPy computes the rounds, so that training starts at once. All files are
written by the code of real training.
"""

import asyncio
from multiprocessing import connection
import os
import pathlib
import signal
import sys
import types

import numpy as np
import tensorflow_federated as tff

from tff_semifl.core import client_states
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import model_selection
from tff_semifl.experiment import progress
from tff_semifl.experiment import training

_NUM_CLIENTS = 4
_SHAPE = (100, 10)
_METRICS = {'loss': 0.5, 'accuracy': 0.5}

# Python's audit events before a file is used or changed.
_EVENTS = ('open', 'os.mkdir', 'os.remove', 'os.rename', 'os.rmdir')


class _Process(federated_process.FederatedProcess):
  """A process of least squares, whose clients keep a momentum."""

  preparations = ()

  def __init__(self):
    pass  # There are no computations.

  def initialize(self):
    return composition.RoundState(
      np.zeros(_SHAPE, np.float32), *[()] * 4, np.int32(0), np.int32(0)
    )

  def initialize_memory(self):
    return np.zeros(_SHAPE, np.float32)

  def next(self, state, server_data, client_data, memories):
    weights = state.global_model_weights
    gradients = [
      x.T @ (x @ weights - y) for x, y in (server_data, *client_data)
    ]
    momenta = [
      np.float32(0.9) * momentum + gradient
      for momentum, gradient in zip(memories, gradients[1:], strict=True)
    ]
    step = np.mean([gradients[0], *momenta], axis=0)
    weights = weights - np.float32(0.001) * step
    client = {
      'label_ratio': 0.5,
      'num_participating': float(len(momenta)),
      'num_rejected': 0.0,
      'weight_diversity': np.float32(np.nan),
      'relative_weight_diversity': np.float32(np.nan),
    }
    return federated_process.RoundOutput(
      state._replace(
        global_model_weights=weights, round_num=state.round_num + np.int32(1)
      ),
      {
        'server': {**_METRICS, 'loss': np.float32(np.sum(gradients[0] ** 2))},
        'client': {**_METRICS, **client},
        'learning_rate': 0.001,
        'aggregator': {},
      },
      momenta,
    )


def _create_program(total_rounds):
  generator = np.random.default_rng(0)
  server_data, *client_data = (
    (
      generator.normal(size=(20, _SHAPE[0])).astype(np.float32),
      generator.normal(size=(20, _SHAPE[1])).astype(np.float32),
    )
    for _ in range(1 + _NUM_CLIENTS)
  )

  def cohort(round_num):
    return [round_num % _NUM_CLIENTS, (round_num + 1) % _NUM_CLIENTS]

  return types.SimpleNamespace(
    process=_Process(),
    evaluation=lambda weights, _: {
      # The accuracy rises and falls, so that the best round changes.
      'accuracy': np.float32(np.abs(np.sin(np.sum(weights)))),
      'loss': np.float32(np.sum(weights**2)),
    },
    model_choice=model_selection.ModelChoice(
      column='test/accuracy', higher_is_better=True, stop_after=None
    ),
    preparation_dataset=None,
    server_dataset=server_data,
    clients=types.SimpleNamespace(
      cohort=cohort,
      chosen=cohort,
      clients_per_round=2,
      datasets=lambda number: [client_data[i] for i in cohort(number)],
    ),
    test_dataset=None,
    total_rounds=total_rounds,
    rounds_per_evaluation=1,
    validates=False,
    measures_pseudo_labels=False,
    statistics=None,
    epsilon_fn=None,
    measure=None,
  )


def train(
  folder: str,
  total_rounds: int,
  kill_at: tuple[str, int] | None,
  parent: connection.Connection,
) -> None:
  """Trains; exits before the n-th use of a file in a folder, by `kill_at`."""
  if kill_at is not None:
    _kill_at(*kill_at, parent)
  experiment = experiment_folder.ExperimentFolder(
    pathlib.Path(folder), hparams_file.create({})
  )
  program = _create_program(total_rounds)
  asyncio.run(
    training.train(
      program,
      checkpoints=experiment.checkpoints(),
      metrics_manager=tff.program.GroupingReleaseManager(
        [
          experiment_folder.MetricsFile(experiment.metrics_path),
          progress.TensorBoardLog(experiment.path / 'logdir'),
        ]
      ),
      memories=client_states.ClientMemories(
        experiment.path / 'client_states',
        program.process.initialize_memory,
        num_kept=experiment_folder.NUM_CHECKPOINTS,
      ),
      on_start=lambda _: parent.send('start'),
      on_round=lambda *_: None,
    )
  )


def _kill_at(folder: str, number: int, parent: connection.Connection) -> None:
  count = 0

  def watch(event, arguments):
    nonlocal count
    if event in _EVENTS and str(arguments[0]).startswith(folder):
      count += 1
      if count == number:
        parent.send(str(arguments[0]))
        os.kill(os.getpid(), signal.SIGKILL)

  sys.addaudithook(watch)
