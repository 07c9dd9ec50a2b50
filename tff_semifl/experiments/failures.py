# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Errors of methods during training."""

from collections.abc import Iterator
import contextlib

from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiments import experiment as experiment_lib
from tff_semifl.experiments import training_programs
from tff_semifl.experiments import user_code
from tff_semifl.files import durable_files
from tff_semifl.metrics import measurement
from tff_semifl.runs import outputs
from tff_semifl.runs import training

# Errors whose message is enough, without a traceback.
_PLAIN = (
  durable_files.OutputError,
  measurement.MetricError,
  runtime.NotPortableError,
  runtime.WorkerError,
  settings.SettingError,
  training.TrainingDivergedError,
)


@contextlib.contextmanager
def explaining(
  experiment: experiment_lib.Experiment, folder: outputs.ExperimentFolder
) -> Iterator[None]:
  """Adds notes to an error of a method, and logs its traceback.

  The notes are the user's lines that created the failed operation, and the file
  that has the traceback.

  Args:
    experiment: What is trained in the `with` block.
    folder: Its folder.
  """
  try:
    yield
  except _PLAIN:
    raise
  except Exception as error:
    # A failed search for the cause must not hide the error.
    with contextlib.suppress(Exception):
      user_code.add_definition(error, lambda: _build_again(experiment))
    user_code.add_log(error, folder.log_path)
    raise


def _build_again(experiment: experiment_lib.Experiment) -> None:
  training_programs.create_training_program(
    # Errors of compiled loops name no operation.
    settings.change(experiment.settings, {'jit_compile': False}),
    experiment.task,
    experiment.classifier,
    experiment.data,
    experiment.clients,
    experiment.privacy_key,
    rounds_per_evaluation=1,
  )
