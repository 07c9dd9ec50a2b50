# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Loads users' release managers, which receive metrics of evaluated rounds."""

from collections.abc import Mapping, Sequence
import pathlib
from typing import Any

import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.experiment import metrics_table
from tff_semifl.settings import references

_NAME = 'release_managers'


def load(name: str) -> Any:
  """Loads a release manager, or a function that creates one."""
  with settings.blame(_NAME, name):
    found = references.load(name)
    if not (isinstance(found, tff.program.ReleaseManager) or callable(found)):
      raise ValueError(
        f'is a {type(found).__name__}; must be a tff.program.ReleaseManager, or'
        ' a function that returns one'
      )
  return found


def create(
  names: Sequence[str], path: pathlib.Path, recorded: Mapping[str, Any]
) -> list['NamedManager']:
  """Creates an experiment's release managers; the folder `path` must exist.

  `recorded` has the settings by name, and `system`, the name of the system.
  """
  managers = []
  for name in names:
    manager = load(name)
    with settings.blame(_NAME, name, ValueError, ImportError):
      if callable(manager):
        manager = manager(path, recorded)
      if not isinstance(manager, tff.program.ReleaseManager):
        raise ValueError(
          f'returns a {type(manager).__name__}; must return a'
          ' tff.program.ReleaseManager'
        )
    managers.append(NamedManager(name, manager))
  return managers


class NamedManager(tff.program.ReleaseManager):
  """Releases metrics by column; errors name the user's manager."""

  def __init__(self, name: str, manager: tff.program.ReleaseManager):
    self._name = name
    self._manager = manager

  async def release(self, value: metrics_table.RoundMetrics, key: int) -> None:
    try:
      await self._manager.release(metrics_table.by_column(value), key)
    except Exception as error:
      raise settings.SettingError(
        _NAME,
        self._name,
        f'round {key} was not released ({type(error).__name__}: {error}); with'
        ' this mended, or without it, the same command goes on from the last'
        ' complete round',
      ) from error
