# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The entries of a sweep, each of which is trained with all seeds."""

from collections.abc import Sequence
import fnmatch
import pathlib
import re
from typing import NamedTuple

from tff_semifl.experiments import presets
from tff_semifl.experiments import system_registry

_PAPER_PREFIX = '# Paper:'
# SemiFL's Table 2 has one more digit and no deviation.
_PAPER = re.compile(r'# Paper: (\d{1,3}\.\d{1,2})%(?: \((\d{1,2}\.\d)\))?: \S')


class Varied(NamedTuple):
  """A setting with one of the values that a sweep tries."""

  name: str
  value: str

  @property
  def flag(self) -> str:
    """The flag that gives the setting this value."""
    return f'--{self.name}={self.value}'


class Entry(NamedTuple):
  """Settings that are trained with each seed: a row of the table.

  Attributes:
    name: A name that no other entry has.
    system_name: The system that is trained.
    source: The flagfile or preset with the settings.
    paper: The accuracy that a paper reports; None if unknown.
    varied: The setting that overrides the source; None if none does.
  """

  name: str
  system_name: str
  source: str
  paper: presets.PaperAccuracy | None
  varied: Varied | None = None

  @property
  def is_preset(self) -> bool:
    """Whether the settings come from a preset."""
    return self.source in presets.names()

  @property
  def arguments(self) -> list[str]:
    """The source's flags, without the varied setting."""
    kind = 'preset' if self.is_preset else 'flagfile'
    return [f'--{kind}={self.source}']

  @property
  def label(self) -> str:
    """The name, with the varied setting."""
    if self.varied is None:
      return self.name
    return f'{self.name}_{self.varied.name}{self.varied.value}'


def read_flagfiles(names: Sequence[str]) -> list[Entry]:
  """An entry for each flagfile."""
  return [_read(name) for name in names]


def find_presets(patterns: Sequence[str]) -> list[Entry]:
  """An entry for each matching preset."""
  found = []
  for pattern in patterns:
    names = fnmatch.filter(presets.names(), pattern)
    if not names:
      # Raises an error that suggests similar presets.
      presets.load(pattern)
    for name in names:
      preset = presets.load(name)
      found.append(
        Entry(
          name=name.replace('/', '_'),
          system_name=preset.system_name,
          source=name,
          paper=preset.paper,
        )
      )
  return found


def vary(
  found: Sequence[Entry], name: str, values: Sequence[str]
) -> list[Entry]:
  """Each entry with each value of a setting, in this order.

  The paper's accuracy is dropped, because it is that of one value.
  """
  return [
    entry._replace(varied=Varied(name, value), paper=None)
    for entry in found
    for value in values
  ]


def check_names(found: Sequence[Entry]) -> None:
  """Checks that entries have different names."""
  by_name = {}
  for entry in found:
    other = by_name.setdefault(entry.name, entry)
    if other is not entry:
      raise ValueError(
        f'{other.source} and {entry.source} would both be {entry.name}; rename'
        ' one, or leave it out'
      )


def _read(name: str) -> Entry:
  system_name, colon, rest = name.rpartition(':')
  if not colon:
    raise ValueError(f'{name} names no system; write semifl:{name}')
  system_registry.load(system_name)
  path = pathlib.Path(rest)
  try:
    first_line = path.read_text().partition('\n')[0]
  except OSError as error:
    raise ValueError(f'cannot read {path}: {error.strerror}') from error
  except UnicodeDecodeError as error:
    raise ValueError(f'{path} is not a text file') from error
  short = system_name.rpartition(':')[2]
  return Entry(
    name=path.stem if path.stem.startswith(short) else f'{short}_{path.stem}',
    system_name=system_name,
    source=str(path),
    paper=_parse_paper(path, first_line),
  )


def _parse_paper(
  path: pathlib.Path, first_line: str
) -> presets.PaperAccuracy | None:
  if not first_line.startswith(_PAPER_PREFIX):
    return None
  found = _PAPER.match(first_line)
  if not found:
    raise ValueError(
      f"{path} begins with {first_line!r}; the paper's accuracy is written"
      " as '# Paper: 93.1% (0.1): ...' or '# Paper: 80.42%: ...'"
    )
  return presets.parse_accuracy(*found.groups())
