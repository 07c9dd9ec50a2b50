# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Settings of experiments with digits."""

from tff_semifl.experiments import experiment_settings
from tff_semifl.experiments import filled_settings
from tff_semifl.experiments import image_task
from tff_semifl.systems import registry
from tff_semifl.tasks import digits


def create(
  system_name: str = 'semifl', **changes: object
) -> experiment_settings.ExperimentSettings:
  """Creates the settings of an experiment with digits."""
  return experiment_settings.create(
    system_name,
    registry.SYSTEMS[system_name],
    image_task.ChosenTask(task=digits.Digits()),
    changes,
  )


def fill_in(
  system_name: str = 'semifl', **changes: object
) -> experiment_settings.ExperimentSettings:
  """Creates the same with defaults filled in that depend on others."""
  return filled_settings.fill_in(
    create(system_name, **changes), digits.Digits().create()
  )
