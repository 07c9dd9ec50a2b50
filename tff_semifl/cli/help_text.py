# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The text of --help, and the reasons why a flag is not accepted."""

from collections.abc import Callable, Collection, Mapping
import contextlib
import re
import textwrap
from typing import Any

from absl import flags

from tff_semifl import settings

# Help on the flags that all programs have.
COMMON = {
  'flagfile': 'File to read flags from, one on each line. Flags on the command'
  ' line take precedence, in any order.',
  'verbosity': '-1 shows only warnings and errors, -2 only errors.',
  'version': 'Print the version and exit.',
}


def explain_unknown(
  argument: str,
  part: settings.Settings,
  create: Callable[[Mapping[str, Any]], settings.Settings],
  how: str,
  elsewhere: Callable[[], Collection[str]],
) -> str:
  """One line that says why a command does not accept an argument."""
  found = re.match(r'--?(\w+)', argument)
  if found is None:
    return f'unexpected argument {argument!r}; flags are --name=value'
  described = settings.as_dict(part)
  choices = [each for each in settings.describe(part) if each.is_choice]
  for name in (found[1], found[1].removeprefix('no')):
    if name in described:
      return f'flag --{found[1]}: write --{name}=VALUE'
    owners = settings.find_owners(part, name)
    if owners:
      return f'flag --{name}: it is only for --{" or --".join(owners)}'
    for choice in choices:
      others = {each.name: each.value for each in choices if each != choice}
      # Some other choices may exist only with this value.
      with contextlib.suppress(settings.SettingError):
        if name in settings.all_names(create(others)):
          return (
            f'flag --{name}: --{choice.name}={choice.value} has no use for it;'
            ' leave it out'
          )
    if name in elsewhere():
      return f'flag --{name}: {how} has no use for it; leave it out'
  hint = settings.did_you_mean(found[1], described)
  return f'flag --{found[1]}: {hint}there is no such flag'


def describe(setting: settings.Description) -> str:
  """The help text of a setting."""
  if setting.values.names or setting.values is settings.ANY:
    return setting.meaning
  return f'{setting.meaning} Must be {setting.values.description}.'


def format_help(part: Any, common: Mapping[str, str]) -> str:
  """The help text of all settings, and of the flags in `common`.

  `part` may have a method `groups`, which returns the settings of each heading.
  """
  groups = part.groups() if hasattr(part, 'groups') else {'settings': [part]}
  lines = []
  for heading, parts in groups.items():
    lines.extend(['', f'{heading}:'])
    for part in parts:
      for each in settings.describe(part):
        shown = '' if each.value is None else f' {settings.show(each.value)}'
        if each.values.names:
          shown += f' ({", ".join(each.values.names)})'
        lines.append(wrap(f'--{each.name}:{shown}', '  '))
        lines.append(wrap(describe(each)))
  lines.extend(['', 'all programs:'])
  for name, text in common.items():
    lines.extend([f'  --{name}:', wrap(text)])
  return '\n'.join(lines)


def wrap(text: str, first_indent: str = '      ') -> str:
  """Wraps a text to the width of the terminal, indented by six spaces."""
  return textwrap.fill(
    text,
    flags.get_help_width(),
    initial_indent=first_indent,
    subsequent_indent='      ',
    break_on_hyphens=False,
  )
