# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Keeps what clients keep from turn to turn, in files.

A client's state is as large as a model, and of many clients only a few work in
a round: the states are read when they are needed, and written when they have
changed. To resume from any checkpoint, a few versions of each are kept.
"""

from collections.abc import Callable, Sequence
import pathlib
import re
from typing import Any

from tff_semifl.programs import array_files
from tff_semifl.programs import durable_files


class ClientStates:
  """The states of all clients: `<folder>/<client>/<round>.npz`."""

  def __init__(
    self,
    folder: pathlib.Path,
    initialize: Callable[[], Any],
    *,
    num_kept: int,
  ):
    """Initialises the store; nothing is read or written yet.

    Args:
      folder: Where the files are, or will be.
      initialize: ( -> C), the state of a client before its first turn.
      num_kept: How many of the last rounds must be possible to go back to.
    """
    self._folder = folder
    self._initialize = initialize
    self._num_kept = num_kept
    self._initial = None

  def load(self, clients: Sequence[int], round_num: int) -> list[Any]:
    """Returns the states that clients bring to a round.

    Args:
      clients: Numbers of the clients.
      round_num: The round.

    Raises:
      durable_files.OutputError: If a file is damaged.
    """
    if self._initial is None:
      self._initial = self._initialize()
    return [self._load_one(client, round_num) for client in clients]

  def save(
    self, clients: Sequence[int], states: Sequence[Any], round_num: int
  ) -> None:
    """Keeps the states with which clients left a round.

    Each is in place as a whole or not at all, and replaces what an earlier run
    of the same round left.

    Args:
      clients: Numbers of the clients.
      states: Their states, in the same order.
      round_num: The round.

    Raises:
      durable_files.OutputError: If they cannot be written.
    """
    for client, state in zip(clients, states, strict=True):
      path = self._path(client, round_num)
      with durable_files.naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        array_files.write(path, state)
        self._remove_old(client, round_num)

  def _load_one(self, client: int, round_num: int) -> Any:
    earlier = [n for n in self._rounds(client) if n < round_num]
    if not earlier:
      return self._initial
    path = self._path(client, max(earlier))
    try:
      return array_files.pack_as(self._initial, array_files.read(path))
    except (array_files.DamagedFileError, ValueError) as error:
      raise durable_files.OutputError(
        f'{error}; put a good copy of {path} in its place, or remove the whole'
        ' experiment to train from the beginning'
      ) from error

  def _remove_old(self, client: int, round_num: int) -> None:
    """Removes what no checkpoint that is kept can need any more."""
    oldest = round_num - self._num_kept
    before = [n for n in self._rounds(client) if n <= oldest]
    for old in sorted(before)[:-1]:
      self._path(client, old).unlink()

  def _rounds(self, client: int) -> list[int]:
    names = (path.stem for path in self._path(client, 0).parent.glob('*.npz'))
    # Files of other names are somebody else's.
    return [int(name) for name in names if re.fullmatch('[0-9]+', name)]

  def _path(self, client: int, round_num: int) -> pathlib.Path:
    return self._folder / str(client) / f'{round_num}.npz'


class ClientMemories:
  """The memories of clients, each of which keeps its own (`memories.Memories`).

  All are in files: nothing is held in main memory.
  """

  def __init__(self, states: ClientStates):
    """Initialises the memories.

    Args:
      states: Where they are kept.
    """
    self._states = states

  def initialize(self) -> tuple[()]:
    """Returns what is held: nothing."""
    return ()

  def recall(
    self, held: tuple[()], round_num: int, cohort: Sequence[int]
  ) -> list[Any]:
    """Returns what each client had at the end of its last turn.

    Args:
      held: Nothing.
      round_num: The round.
      cohort: Numbers of the clients.
    """
    del held  # Nothing.
    return self._states.load(cohort, round_num)

  def keep(
    self,
    held: tuple[()],
    round_num: int,
    cohort: Sequence[int],
    returned: Sequence[Any],
  ) -> tuple[()]:
    """Keeps what each client has at the end of a turn.

    Args:
      held: Nothing.
      round_num: The round.
      cohort: Numbers of the clients.
      returned: What they have.
    """
    self._states.save(cohort, returned, round_num)
    return held
