# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags of what a sweep trains: entries, and values of a setting."""

from collections.abc import Sequence

from absl import flags

from tff_semifl.command_line import program
from tff_semifl.command_line import sweep_experiments
from tff_semifl.sweeps import entries as entries_lib

_FLAGFILES = flags.DEFINE_list(
  'flagfiles',
  [],
  'Experiments to train, separated by commas: each a system and a flagfile,'
  ' such as semifl:my.flags.',
)
_PRESETS = flags.DEFINE_list(
  'presets',
  [],
  'Presets to train, separated by commas, such as semifl/svhn_250_iid; * stands'
  ' for any characters.',
)
_VARY = flags.DEFINE_string(
  'vary', None, 'Setting to vary, such as learning_rate.'
)
_VALUES = flags.DEFINE_list(
  'values', [], 'The values of --vary, separated by commas, in order.'
)


def parse(passed_on: Sequence[str]) -> list[entries_lib.Entry]:
  """The entries of the sweep, each with each value of the varied setting."""
  with program.blame(_FLAGFILES, ValueError):
    entries = entries_lib.read_flagfiles(_FLAGFILES.value)
  with program.blame(_PRESETS, ValueError):
    entries.extend(entries_lib.find_presets(_PRESETS.value))
  with program.blame(_FLAGFILES, ValueError, value=''):
    if not entries:
      raise ValueError('name at least one, or one of --presets')
    entries_lib.check_names(entries)
  name, values = _VARY.value, _VALUES.value
  with program.blame(_VARY, ValueError):
    if name is not None:
      sweep_experiments.check_varied(name)
  with program.blame(_VALUES, ValueError):
    if (name is None) != (not values):
      raise ValueError('give --vary, a setting, and --values of it, or neither')
    if len(set(values)) < len(values):
      raise ValueError('each value is trained with once')
    if sweep_experiments.has_flag(passed_on, name):
      raise ValueError(f'--vary sets {name}; leave --{name} out')
  return entries if name is None else entries_lib.vary(entries, name, values)
