# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What an experiment promises to its clients, from the flags that it recorded.

Flags that were recorded are enough, so that a model which is exported later
says the same as one that training exports.
"""

from collections.abc import Mapping
import pathlib
from typing import Any

from launch import aggregator_flags as flags
from launch import data_flags
from launch import training_flags
from tff_semifl.export import privacy_statement
from tff_semifl.programs import privacy
from tff_semifl.programs import saved_experiment


def describe(
  values: Mapping[str, Any], num_rounds: int
) -> privacy_statement.PrivacyStatement | None:
  """Returns what is promised, or None if privacy was not asked for.

  Args:
    values: All flags of the experiment by name, with defaults filled in.
    num_rounds: Rounds that were run, without round 0.
  """
  if values.get(flags.AGGREGATOR.name) != 'differential_privacy':
    return None
  numbers = {
    'noise_multiplier': values[flags.NOISE_MULTIPLIER.name],
    'num_clients': values[data_flags.NUM_CLIENTS.name],
    'clients_per_round': values[training_flags.CLIENTS_PER_ROUND.name],
    'num_rounds': num_rounds,
    'delta': values[flags.PRIVACY_DELTA.name],
  }
  why_not_private = _why_not_private(values)
  return privacy_statement.PrivacyStatement(
    epsilon=None if why_not_private else privacy.compute_epsilon(**numbers),
    clipping_norm=values[flags.CLIPPING_NORM.name],
    why_not_private=why_not_private,
    **numbers,
  )


def read(
  folder: pathlib.Path, num_rounds: int
) -> privacy_statement.PrivacyStatement | None:
  """Returns the same from the folder of an experiment.

  What it recorded when it was begun counts, and not the flags of today: an
  experiment of an older version may be complete.

  Args:
    folder: `<output_dir>/<experiment_name>`.
    num_rounds: As in `describe`.

  Raises:
    saved_experiment.SavedExperimentError: If it is none.
  """
  return describe(saved_experiment.read_hparams(folder).flags, num_rounds)


def _why_not_private(values: Mapping[str, Any]) -> str | None:
  name = flags.INSECURE_FIXED_PRIVACY_KEY.name
  if name not in values:
    return (
      'it was trained by an older version, whose noise follows from the seed,'
      ' which is public'
    )
  if values[name] is not None:
    return f'--{name} was given: everybody can repeat the noise and subtract it'
  return None
