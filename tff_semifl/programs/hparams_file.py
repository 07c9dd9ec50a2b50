# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The file `hparams.json`: what an experiment is, and what ran it."""

from collections.abc import Collection, Mapping, Sequence
import importlib.metadata
import json
import pathlib
import platform
import subprocess
from typing import Any, NamedTuple

from tff_semifl.programs import durable_files

NAME = 'hparams.json'

_PACKAGES = (
  'tensorflow',
  'tensorflow-federated',
  'tensorflow-datasets',
  'keras-cv',
  'numpy',
)
# What other JSON, or none, leads to.
_NOT_AS_WRITTEN = (
  AttributeError,
  KeyError,
  RecursionError,
  TypeError,
  ValueError,
)


class Hparams(NamedTuple):
  """The content of an experiment's `hparams.json`.

  Attributes:
    system: Name of the system, or None if the file has none.
    flags: All flags of the program by name, including defaults.
    data: A description of the data if they may change under the same flags,
      else None.
    versions: Versions of Python and of packages, and the Git commit, by name.
    notes: What is to be known of the data, in lines.
  """

  system: str | None
  flags: Mapping[str, Any]
  data: str | None
  versions: Mapping[str, str | None]
  notes: Sequence[str] = ()

  def find_difference(
    self, now: 'Hparams', may_change: Collection[str]
  ) -> str | None:
    """Returns in words what is another experiment's, or None if nothing is.

    Args:
      now: What would be written now.
      may_change: Names of flags that may differ.
    """
    if self.system != now.system:
      return (
        f'another experiment, of {self.system} and not {now.system}; choose'
        ' another --output_dir'
      )
    for name in sorted({*now.flags, *self.flags}.difference(may_change)):
      if now.flags.get(name) != self.flags.get(name):
        return (
          f'another experiment, with --{name}={self.flags.get(name)} and not'
          f' {now.flags.get(name)}; choose another --output_dir, or repeat its'
          ' flags to resume it'
        )
    if self.data != now.data:
      return (
        f'an experiment on other data ({self.data}) than these ({now.data});'
        ' choose another --output_dir'
      )
    return None


def create(
  system: str | None,
  flags: Mapping[str, Any],
  data: str | None,
  notes: Sequence[str] = (),
) -> Hparams:
  """Creates what is written now, as it will be read."""
  flags = json.loads(json.dumps(flags))
  return Hparams(system, flags, data, _versions(), notes)


def read(path: pathlib.Path) -> Hparams:
  """Reads a file.

  Args:
    path: The file.

  Raises:
    OSError: If it cannot be read.
    ValueError: If it is not what an experiment writes.
  """
  found = durable_files.describe_special_file(path)
  if found is not None:
    raise ValueError(f'{path} is {found}, not a file')
  try:
    content = json.loads(path.read_text())
    return Hparams(
      content.get('system'),
      {str(name): value for name, value in dict(content['flags']).items()},
      content['data'],
      dict(content['versions']),
      tuple(map(str, content.get('notes', ()))),
    )
  except _NOT_AS_WRITTEN as error:
    raise ValueError(f'{path} is not what an experiment writes') from error


def write(path: pathlib.Path, hparams: Hparams) -> None:
  """Writes a file; raises an OSError if it cannot be written."""
  with durable_files.replacing(path) as file:
    file.write(f'{json.dumps(hparams._asdict(), indent=2)}\n'.encode())


def _versions() -> dict[str, str | None]:
  versions = {name: importlib.metadata.version(name) for name in _PACKAGES}
  return {
    'git_commit': _git_commit(),
    'python': platform.python_version(),
    **versions,
  }


def _git_commit() -> str | None:
  """Returns the program's Git commit, with `-dirty` if files have changed."""
  # It would refresh Git's index, and may leave its lock on a full disk.
  command = 'git --no-optional-locks describe --always --dirty --abbrev=40'
  try:
    return subprocess.run(
      command.split(),
      cwd=pathlib.Path(__file__).parent,
      capture_output=True,
      check=True,
      text=True,
    ).stdout.strip()
  except (OSError, subprocess.CalledProcessError):
    return None
