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

  Rounds may be added (`may_grow`) if no round depends on the number of rounds.
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
    parts: What `ExperimentSettings.identify` returns.
    notes: Remarks on the data, in lines.
  """

  system: str | None
  flags: Mapping[str, Any]
  data: str | None
  versions: Mapping[str, str | None]
  parts: Mapping[str, Any] | None = None
  notes: Sequence[str] = ()

  def find_difference(
    self,
    now: 'Hparams',
    may_change: Collection[str],
    length: Length = UNKNOWN_LENGTH,
  ) -> str | None:
    """The first difference from the present experiment; None if equal."""
    if self.system != now.system:
      return f'another experiment, of {self.system} and not {now.system}'
    for name in sorted({*now.flags, *self.flags}.difference(may_change)):
      before, after = self.flags.get(name), now.flags.get(name)
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
    part = find_other_part(self.parts, now.parts)
    if part is not None:
      return f'another experiment, {part}'
    if self.data != now.data:
      return (
        f'an experiment on other data ({self.data}) than these ({now.data})'
      )
    return None

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
  """The content to write, in the form that `read` returns."""
  flags, parts = json.loads(json.dumps([flags, parts]))
  return Hparams(system, flags, data, _versions(), parts, notes)


def read(path: pathlib.Path) -> Hparams:
  """Reads a file; raises a ValueError if no experiment wrote its content."""
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
  """Writes a file durably."""
  with durable_files.replacing(path) as file:
    file.write(f'{json.dumps(hparams._asdict(), indent=2)}\n'.encode())


def find_other_part(
  before: Any, now: Any, place: str = 'system, task or model'
) -> str | None:
  """The first difference between recorded and present parts; None if equal."""
  if place == METRICS:
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
    is_inside = 'class' in before or place == METRICS
    inside = f'{place}.{name}' if is_inside else name
    found = find_other_part(before.get(name), now.get(name), inside)
    if found is not None:
      return found
  return None


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
