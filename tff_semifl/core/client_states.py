# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Stores of clients' memories: the interface, and a store in files.

A memory can be as large as a model, and few clients train in a round.
Therefore a file is read or written only when its client trains.
"""

from collections.abc import Callable, Sequence
import functools
import pathlib
import re
from typing import Any, Protocol

from tff_semifl.files import durable_files


class Memories(Protocol):
  """A store of clients' memories, in main memory or in files.

  The store decides which memory a client gets: its own memory
  (`ClientMemories`), the memory of its slot in the round
  (`group_averaging.SlotMemories`), or other clients' models
  (`helpers.Helpers`). Checkpoints contain memories in main memory (`held`).
  Files are deleted when no checkpoint can need them any more.
  """

  def initialize(self) -> Any:
    """The initial value of `held`: arrays, or () for a store in files."""

  def recall(self, held: Any, round_num: int, cohort: Sequence[int]) -> list:
    """The memories of a cohort before a round, in the order of `cohort`."""

  def keep(
    self, held: Any, round_num: int, cohort: Sequence[int], returned: list
  ) -> Any:
    """Stores the memories of a cohort after a round; returns the new `held`.

    `returned` has None for a client that dropped out during the round.
    """


class ClientStates:
  """Stores a state for each client in files `<folder>/<client>/<round>.npz`.

  `initialize` returns the state of a client that has not trained yet. Files are
  kept for a run that resumes from any of the latest `num_kept` rounds.
  """

  def __init__(
    self, folder: pathlib.Path, initialize: Callable[[], Any], *, num_kept: int
  ):
    self._folder = folder
    self._initial = functools.cache(initialize)
    self._num_kept = num_kept

  def load(self, client: int, round_num: int) -> Any:
    """The state of a client before a round."""
    earlier = [n for n in self._rounds(client) if n < round_num]
    if not earlier:
      return self._initial()
    path = self._path(client, max(earlier))
    try:
      return durable_files.pack_as(
        self._initial(), durable_files.read_arrays(path)
      )
    except (durable_files.DamagedFileError, ValueError) as error:
      raise durable_files.OutputError(
        f'{error}; put a good copy of {path} in its place, or remove the whole'
        ' experiment to train from the beginning'
      ) from error

  def save(self, client: int, state: Any, round_num: int) -> None:
    """Saves the state of a client after a round."""
    path = self._path(client, round_num)
    with durable_files.naming(path):
      path.parent.mkdir(parents=True, exist_ok=True)
      durable_files.write_arrays(path, state)
      # Checkpoints can need only the latest state before the oldest round.
      oldest = round_num - self._num_kept
      before = [n for n in self._rounds(client) if n <= oldest]
      for old in sorted(before)[:-1]:
        self._path(client, old).unlink()

  def _rounds(self, client: int) -> list[int]:
    names = (path.stem for path in self._path(client, 0).parent.glob('*.npz'))
    return [int(name) for name in names if re.fullmatch('[0-9]+', name)]

  def _path(self, client: int, round_num: int) -> pathlib.Path:
    return self._folder / str(client) / f'{round_num}.npz'


class ClientMemories(ClientStates):
  """A store in files in which each client has its own memory."""

  def initialize(self) -> tuple[()]:
    return ()

  def recall(
    self, held: tuple[()], round_num: int, cohort: Sequence[int]
  ) -> list[Any]:
    del held
    if round_num > 1 and not self._folder.is_dir():
      raise durable_files.OutputError(
        f'{self._folder} is missing, in which clients keep their states; put it'
        ' back, or remove the whole experiment to train from the beginning'
      )
    with durable_files.naming(self._folder):
      self._folder.mkdir(parents=True, exist_ok=True)
    return [self.load(client, round_num) for client in cohort]

  def keep(
    self,
    held: tuple[()],
    round_num: int,
    cohort: Sequence[int],
    returned: Sequence[Any | None],
  ) -> tuple[()]:
    for client, memory in zip(cohort, returned, strict=True):
      if memory is not None:
        self.save(client, memory, round_num)
    return held
