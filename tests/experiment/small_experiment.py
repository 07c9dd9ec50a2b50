# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Settings of experiments with digits."""

from tasks import digits
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import filled_settings
from tff_semifl.experiment import system_registry
from tff_semifl.experiment import task_registry


def create(
  system_name: str = 'semifl', **changes: object
) -> experiment_settings.ExperimentSettings:
  """Creates the settings of an experiment with digits."""
  return experiment_settings.create(
    system_name,
    system_registry.SYSTEMS[system_name],
    task_registry.ChosenTask(task=digits.Digits()),
    changes,
  )


def fill_in(
  system_name: str = 'semifl', **changes: object
) -> experiment_settings.ExperimentSettings:
  """Settings in which dependent defaults are filled in."""
  return filled_settings.fill_in(
    create(system_name, **changes), digits.Digits().create()
  )
