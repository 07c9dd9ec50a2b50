# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Compares and restores the settings of an experiment from `hparams.json`."""

from collections.abc import Collection, Mapping
import json
from typing import Any

from tff_semifl import settings as settings_lib
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import run_settings
from tff_semifl.experiment import saved_experiment
from tff_semifl.experiment import system_registry
from tff_semifl.experiment import task_registry

# Settings that are recorded for all systems, perhaps derived from others.
_OF_ALL = {'task', 'total_rounds', 'dry_run', *experiment_settings.SIZES}


def restore(
  hparams: hparams_file.Hparams, instead: Mapping[str, Any]
) -> experiment_settings.ExperimentSettings:
  """Restores the settings of a recorded experiment.

  `instead` overrides recorded settings, such as the path of moved data.
  """
  values = {**hparams.flags, **instead}
  try:
    # Unknown settings are reported below, with another remedy.
    experiment = _create(hparams.system, values)
  except settings_lib.SettingError as error:
    raise saved_experiment.SavedExperimentError(
      f'its settings cannot be restored here and now: {error}'
    ) from error
  known = (
    # Includes parts from outside, and settings of other choices.
    settings_lib.as_dict(experiment).keys()
    | settings_lib.all_names(experiment)
    | settings_lib.all_names(task_registry.ChosenTask())
    | run_settings.UNIMPORTANT
    | _OF_ALL
  )
  for name, value in values.items():
    if name not in known and value is not None:
      raise saved_experiment.SavedExperimentError(
        'was run by another version of this program, with a setting that this'
        f' one has not: {name}={value}'
      )
  found, recorded = experiment.identify(), hparams.parts or {}
  # The system is not compared, because the model is already trained.
  for name in {'task', 'model'} & recorded.keys():
    difference = find_other_part(recorded[name], found[name], name)
    if difference is not None:
      raise saved_experiment.SavedExperimentError(
        f'is an experiment {difference}'
      )
  return experiment


def find_changes(
  hparams: hparams_file.Hparams,
  experiment: experiment_settings.ExperimentSettings,
) -> dict[str, Any]:
  """The settings of a restored experiment that differ from the defaults."""
  described = list(settings_lib.describe(experiment))
  choices = {
    each.name: hparams.flags[each.name]
    for each in described
    if each.is_choice and hparams.flags.get(each.name) is not None
  }

  def find_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    created = settings_lib.as_dict(_create(hparams.system, values))
    # JSON converts some values.
    return json.loads(json.dumps(created))

  # The chosen parts determine which settings exist, and their defaults.
  of_choices = find_defaults({'task': choices['task']})
  of_others = find_defaults(choices)
  return {
    each.name: value
    for each in described
    if (value := hparams.flags.get(each.name)) is not None
    and (
      each.name == 'task'
      or value != (of_choices if each.is_choice else of_others).get(each.name)
    )
  }


def _create(
  system_name: str | None, values: Mapping[str, Any]
) -> experiment_settings.ExperimentSettings:
  """The settings of a system; values of unknown settings are ignored."""
  return experiment_settings.create(
    str(system_name),
    system_registry.load(str(system_name)),
    task_registry.ChosenTask(),
    values,
    lenient=True,
  )


def find_difference(
  recorded: hparams_file.Hparams,
  now: hparams_file.Hparams,
  may_change: Collection[str],
  length: hparams_file.Length = hparams_file.UNKNOWN_LENGTH,
) -> str | None:
  """The first difference between a record and an experiment; None if equal."""
  if recorded.system != now.system:
    return f'another experiment, of {recorded.system} and not {now.system}'
  for name in sorted({*now.flags, *recorded.flags}.difference(may_change)):
    before, after = recorded.flags.get(name), now.flags.get(name)
    are_lengths = isinstance(before, int) and isinstance(after, int)
    if name in length.names and are_lengths and before < after:
      if length.may_grow:
        continue
      return (
        f'a run with --{name}={before}, which cannot become {after}, because'
        ' a schedule, as of the learning rate, depends on how many there are'
      )
    if before != after:
      return f'another experiment, with --{name}={before} and not {after}'
  part = find_other_part(recorded.parts, now.parts)
  if part is not None:
    return f'another experiment, {part}'
  if recorded.data != now.data:
    return (
      f'an experiment on other data ({recorded.data}) than these ({now.data})'
    )
  return None


def find_other_part(
  before: Any, now: Any, place: str = 'system, task or model'
) -> str | None:
  """The first difference between recorded and present parts; None if equal."""
  if place == hparams_file.METRICS:
    # A run may be resumed with more or fewer metrics.
    both = (before or {}).keys() & (now or {}).keys()
    before, now = (
      {name: each[name] for name in both} for each in (before, now)
    )
  if before == now:
    return None
  if not isinstance(before, dict) or not isinstance(now, dict):
    return f'whose {place} is {before} and not {now}'
  if 'class' in before and before['class'] != now.get('class'):
    found = now.get('class', now)
    return f'whose {place} is {before["class"]} and not {found}'
  if before.keys() & {'code', 'digest'} and before.keys() == now.keys():
    for name in ('code', 'digest'):
      if before.get(name) != now.get(name):
        kind = before.get('class') or before.get('name')
        return f'whose {place}, {kind}, had other content or code'
  for name in sorted({*before, *now}):
    is_inside = 'class' in before or place == hparams_file.METRICS
    inside = f'{place}.{name}' if is_inside else name
    found = find_other_part(before.get(name), now.get(name), inside)
    if found is not None:
      return found
  return None
