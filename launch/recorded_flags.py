# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags of an experiment that was run, in place of a command line's."""

from collections.abc import Collection, Mapping
from typing import Any

from absl import flags

from launch import systems
from tff_semifl.programs import saved_experiment


def adopt(
  recorded: Mapping[str, Any], *, may_be_given: Collection[flags.FlagHolder]
) -> None:
  """Gives flags the values that an experiment had.

  Modules that read flags then build what the experiment was. For them the flags
  were not typed: they have what a task without use for them leaves out.

  Args:
    recorded: Values by name, as in `hparams.json`.
    may_be_given: Flags that keep their value if they are on the command line:
      where data are may have changed.

  Raises:
    saved_experiment.SavedExperimentError: If there is no such flag, if it
      cannot have that value, or if one is on the command line.
  """
  names_kept = {flag.name for flag in may_be_given if flag.present}
  known = {name for system in systems.ALL for name in system.flag_values()}
  for name, value in recorded.items():
    if name not in known:
      raise saved_experiment.SavedExperimentError(
        f'was run by another version of this program, with a flag that this one'
        f' has not: --{name}={value}'
      )
    flag = flags.FLAGS[name]
    if name in names_kept:
      continue
    if flag.present:
      raise saved_experiment.SavedExperimentError(
        f'was run with --{name}={value}, which is not to be chosen now; leave'
        f' --{name} out'
      )
    try:
      setattr(
        flags.FLAGS, name, None if value is None else flag.parser.parse(value)
      )
    except (ValueError, TypeError, flags.IllegalFlagValueError) as error:
      raise saved_experiment.SavedExperimentError(
        f'was run by another version of this program, with --{name}={value}:'
        f' {error}'
      ) from error
