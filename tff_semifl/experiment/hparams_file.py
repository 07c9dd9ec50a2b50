# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The file `hparams.json`: an experiment's settings, versions and hardware."""

from collections.abc import Collection, Mapping, Sequence
import contextlib
import importlib.metadata
import json
import pathlib
import platform
import subprocess
from typing import Any, NamedTuple

import tensorflow as tf

from tff_semifl.files import durable_files

NAME = 'hparams.json'
# The part that has a user's own metrics by name.
METRICS = 'metrics'

_PACKAGES = (
  'tensorflow',
  'tensorflow-federated',
  'tensorflow-datasets',
  'keras-cv',
  'numpy',
)


class Length(NamedTuple):
  """The names of flags that set the length of training.

  Rounds may be added (`may_grow`) unless a schedule depends on their number.
  """

  names: Collection[str]
  may_grow: bool


UNKNOWN_LENGTH = Length((), may_grow=False)


class Hparams(NamedTuple):
  """The content of an experiment's `hparams.json`.

  Attributes:
    system: Name of the system, or None if the file has none.
    flags: All flags of the program by name, including defaults.
    data: A description of the data; None if the flags determine the data.
    versions: Versions of packages, the Git commit, and names of hardware.
    parts: Identities of the chosen parts, see `ExperimentSettings.identify`.
    notes: Remarks on the data, in lines.
  """

  system: str | None
  flags: Mapping[str, Any]
  data: str | None
  versions: Mapping[str, str | None]
  parts: Mapping[str, Any] | None = None
  notes: Sequence[str] = ()

  def describe_changes(self, now: 'Hparams') -> list[str]:
    """Describes versions and hardware that changed since the run began."""
    changes = [
      f'{name} was {before} and is {now.versions[name]}'
      for name, before in self.versions.items()
      if now.versions.get(name, before) != before
    ]
    if not changes:
      return []
    return [
      f'since the start, {", ".join(changes)}: digits may differ from those of'
      ' a run without interruption'
    ]


def create(
  flags: Mapping[str, Any],
  *,
  system: str | None = None,
  data: str | None = None,
  parts: Mapping[str, Any] | None = None,
  notes: Sequence[str] = (),
) -> Hparams:
  """Creates the content of a new file, in the form that `read` returns."""
  flags, parts = json.loads(json.dumps([flags, parts]))
  return Hparams(system, flags, data, _versions(), parts, notes)


def read(path: pathlib.Path) -> Hparams:
  """Reads `hparams.json`; raises a ValueError if the content is unusable."""
  try:
    content = json.loads(path.read_text())
    return Hparams(
      content.get('system'),
      {str(name): value for name, value in dict(content['flags']).items()},
      content['data'],
      dict(content['versions']),
      dict(parts) if (parts := content.get('parts')) is not None else None,
      tuple(map(str, content.get('notes', ()))),
    )
  # Errors that damaged or foreign JSON causes.
  except (
    AttributeError,
    KeyError,
    RecursionError,
    TypeError,
    ValueError,
  ) as error:
    raise ValueError(f'{path} is not what an experiment writes') from error


def write(path: pathlib.Path, hparams: Hparams) -> None:
  """Writes `hparams.json` durably."""
  with durable_files.replacing(path) as file:
    file.write(f'{json.dumps(hparams._asdict(), indent=2)}\n'.encode())


def _versions() -> dict[str, str | None]:
  # An optional lock would refresh Git's index, and stay on a full disk.
  git = 'git --no-optional-locks describe --always --dirty --abbrev=40'
  try:
    commit = subprocess.run(
      git.split(),
      cwd=pathlib.Path(__file__).parent,
      capture_output=True,
      check=True,
      text=True,
    ).stdout.strip()
  except (OSError, subprocess.CalledProcessError):
    commit = None
  processor = platform.processor()
  with contextlib.suppress(OSError):
    lines = pathlib.Path('/proc/cpuinfo').read_text().splitlines()
    names = (line.partition(':')[2] for line in lines if 'model name' in line)
    processor = next(names, processor).strip()
  gpus = [
    tf.config.experimental.get_device_details(gpu).get('device_name', 'unknown')
    for gpu in tf.config.list_physical_devices('GPU')
  ]
  return {
    'git_commit': commit,
    'processor': processor,
    'gpus': ', '.join(gpus) or None,
    'python': platform.python_version(),
    **{name: importlib.metadata.version(name) for name in _PACKAGES},
  }
