# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flag --preset: the settings of a cell of a paper's table, as flags."""

from collections.abc import Sequence

from absl import flags

from tff_semifl import settings
from tff_semifl.experiments import presets

HELP = (
  "Settings of a cell of a paper's table or figure, semifl/cifar10_4000_iid"
  ' say; tff_semifl/experiments/presets.csv has them all. Other flags and'
  ' flagfiles win over it.'
)


def expand(system_name: str, arguments: Sequence[str]) -> list[str]:
  """Returns arguments with the flags of a preset in front of all others.

  What comes last counts, so flags that are given win over those of the preset,
  and of several presets it is the last.

  Args:
    system_name: The system that is trained.
    arguments: The command line, without the program and without flagfiles.

  Raises:
    flags.Error: If no preset is named.
    settings.SettingError: If there is no such preset, or if it is of another
      system.
  """
  values = flags.FlagValues()
  flags.DEFINE_string('preset', None, '', flag_values=values)
  _, *others = values(['', *arguments], known_only=True)
  name = values['preset'].value
  if name is None:
    return others
  preset = presets.load(name)
  if preset.system_name != system_name:
    raise settings.SettingError(
      'preset',
      name,
      f'is of {preset.system_name}; train that, or choose one of {system_name}',
    )
  chosen = {'output_dir': preset.output_dir, **preset.settings}
  return [
    *(f'--{key}={settings.show(value)}' for key, value in chosen.items()),
    *others,
  ]
