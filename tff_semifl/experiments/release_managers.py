# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Release managers that a setting names."""

from collections.abc import Callable, Mapping, Sequence
import pathlib
from typing import Any

import tensorflow_federated as tff

from tff_semifl import settings as settings_lib
from tff_semifl.settings import references

_SETTING = 'release_managers'
_Create = Callable[
  [pathlib.Path, Mapping[str, Any]], tff.program.ReleaseManager
]


def load(reference: str) -> tff.program.ReleaseManager | _Create:
  """Loads 'package.module:NAME': a release manager, or a function to one."""
  with settings_lib.blame(_SETTING, reference):
    found = references.load(reference)
    if not isinstance(found, tff.program.ReleaseManager) and not callable(
      found
    ):
      raise ValueError(
        f'is a {type(found).__name__}; must be a tff.program.ReleaseManager, or'
        ' a function from the folder of an experiment and its settings to one'
      )
    return found


def create(
  names: Sequence[str], path: pathlib.Path, settings: Mapping[str, Any]
) -> list['NamedManager']:
  """Creates the managers of an experiment's folder, which exists.

  The settings are by name, with `system` for the name of the system.
  """
  managers = []
  for name in names:
    manager = load(name)
    with settings_lib.blame(_SETTING, name, ValueError, ImportError):
      if not isinstance(manager, tff.program.ReleaseManager):
        manager = manager(path, settings)
      if not isinstance(manager, tff.program.ReleaseManager):
        raise ValueError(
          f'returns a {type(manager).__name__}; must return a'
          ' tff.program.ReleaseManager'
        )
    managers.append(NamedManager(name, manager))
  return managers


class NamedManager(tff.program.ReleaseManager):
  """A release manager whose errors give its name in the setting."""

  def __init__(self, name: str, manager: tff.program.ReleaseManager):
    self._name = name
    self._manager = manager

  async def release(
    self, value: tff.program.ReleasableStructure, key: int
  ) -> None:
    """Releases a round's metrics."""
    try:
      await self._manager.release(value, key)
    except Exception as error:
      raise settings_lib.SettingError(
        _SETTING,
        self._name,
        f'round {key} was not released ({type(error).__name__}: {error}); with'
        ' this mended, or without it, the same command goes on from the last'
        ' complete round',
      ) from error

  def finish(self) -> None:
    """Tells a manager that has `finish` that training ended early."""
    if hasattr(self._manager, 'finish'):
      self._manager.finish()
