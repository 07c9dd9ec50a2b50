# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flagfiles of a sweep: what trains each, and what the paper reached."""

from collections.abc import Sequence
import pathlib
import re
from typing import NamedTuple

from launch import system as system_lib
from launch import systems

# By the name of the program, which is the module launch.<name>.
PROGRAMS = {f'train_{system.name}': system for system in systems.ALL}

_PAPER_PREFIX = '# Paper:'
# SemiFL's Table 2 has a digit more, and says nothing of other seeds.
_PAPER = re.compile(
  r'# Paper: ((\d{1,3}\.\d{1,2})%(?: \((\d{1,2}\.\d)\))?): \S'
)


class PaperAccuracy(NamedTuple):
  """What the paper has in a cell of a table.

  Attributes:
    text: As it is written there.
    mean: The best test accuracy of all rounds, averaged over seeds (D16).
    deviation: Its population standard deviation; None if there is none.
  """

  text: str
  mean: float
  deviation: float | None


class Flagfile(NamedTuple):
  """What is trained with each seed, and becomes a row of the table.

  Attributes:
    program: What trains it, a key of `PROGRAMS`.
    path: The flagfile.
    paper: From its first line; None if there is none.
  """

  program: str
  path: pathlib.Path
  paper: PaperAccuracy | None

  @property
  def system(self) -> system_lib.System:
    """What is trained."""
    return PROGRAMS[self.program]

  @property
  def name(self) -> str:
    """What it is called: as the file, with the system in front."""
    if self.path.stem.startswith(self.system.name):
      return self.path.stem
    return f'{self.system.name}_{self.path.stem}'


def read_flagfiles(
  entries: Sequence[str], default_program: str | None
) -> list[Flagfile]:
  """Reads a list of flagfiles.

  Args:
    entries: Paths, each with or without `program:` in front.
    default_program: What trains those that come without, or None.

  Raises:
    ValueError: If there are none, if one cannot be read, if it is not known
      what trains it, or if two have the same name.
  """
  flagfiles = [_read(entry, default_program) for entry in entries]
  if not flagfiles:
    raise ValueError('name at least one')
  by_name = {}
  for flagfile in flagfiles:
    other = by_name.setdefault(flagfile.name, flagfile)
    if other is not flagfile:
      raise ValueError(
        f'{other.path} and {flagfile.path} would both be {flagfile.name};'
        ' rename one, or leave it out'
      )
  return flagfiles


def _read(entry: str, default_program: str | None) -> Flagfile:
  program, colon, rest = entry.partition(':')
  if not colon:
    program, rest = default_program, entry
    if program is None:
      raise ValueError(
        f'what trains {entry}? Say it for all with --program, or write'
        f' train_semifl:{entry}'
      )
  if program not in PROGRAMS:
    raise ValueError(
      f'{entry}: there is no program {program!r}; there are'
      f' {", ".join(PROGRAMS)}'
    )
  path = pathlib.Path(rest)
  try:
    first_line = path.read_text().partition('\n')[0]
  except OSError as error:
    raise ValueError(f'cannot read {path}: {error.strerror}') from error
  except UnicodeDecodeError as error:
    raise ValueError(f'{path} is no text') from error
  return Flagfile(program, path, _parse_paper(path, first_line))


def _parse_paper(path: pathlib.Path, first_line: str) -> PaperAccuracy | None:
  if not first_line.startswith(_PAPER_PREFIX):
    return None
  found = _PAPER.match(first_line)
  if not found:
    raise ValueError(
      f"{path} begins with {first_line!r}; the paper's accuracy is written"
      " as '# Paper: 93.1% (0.1): ...' or '# Paper: 80.42%: ...'"
    )
  text, mean, deviation = found.groups()
  return PaperAccuracy(
    text, _fraction(mean), None if deviation is None else _fraction(deviation)
  )


def _fraction(percentage: str) -> float:
  # To the digits that it has, and no others.
  return round(float(percentage) / 100, 4)
