# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flag --preset, which sets the flags of an experiment of a paper."""

from collections.abc import Sequence

from absl import flags

from tff_semifl import settings
from tff_semifl.experiments import presets

HELP = (
  "Settings of a cell of a paper's table or figure, such as"
  ' semifl/cifar10_4000_iid; tff_semifl/experiments/presets.csv lists all'
  ' presets. Other flags and flagfiles take precedence over it.'
)


def expand(system_name: str, arguments: Sequence[str]) -> list[str]:
  """Returns arguments with the flags of a preset in front of all others.

  The last value of a flag counts, so that flags on the command line take
  precedence over those of the preset. Of several presets the last one counts.

  Args:
    system_name: Name of the system that is trained.
    arguments: The command line, without the program and without flagfiles.

  Returns:
    The arguments without --preset, after the flags of the preset.

  Raises:
    flags.Error: If --preset has no value.
    settings.SettingError: If there is no such preset, or if it is for another
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
